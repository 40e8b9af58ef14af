use notebook::{MimeBundle, Output};

use crate::Event;

/// The outputs of a cell, built from the events of its execution.
#[derive(Debug, Clone, Default)]
pub struct OutputArea {
    outputs: Vec<Output>,
    /// For each output the id under which it can be updated.
    display_ids: Vec<Option<String>>,
    size_bytes: usize,
    /// The next output replaces all others.
    clears: bool,
}

impl OutputArea {
    /// Applies one event. Returns whether the outputs changed.
    pub fn apply(&mut self, event: Event) -> bool {
        match event {
            Event::Output { output, display_id } => {
                if std::mem::take(&mut self.clears) {
                    self.clear();
                }
                self.append(output, display_id);
                true
            }
            Event::UpdateDisplay { display_id, bundle } => self.update(&display_id, &bundle),
            Event::ClearOutput { wait: true } => {
                self.clears = true;
                false
            }
            Event::ClearOutput { wait: false } => {
                let had_some = !self.outputs.is_empty();
                self.clear();
                had_some
            }
            Event::Started { .. }
            | Event::Captured(_)
            | Event::InputWanted { .. }
            | Event::InputAnswered
            | Event::Finished(_) => false,
        }
    }

    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    fn clear(&mut self) {
        self.outputs.clear();
        self.display_ids.clear();
        self.size_bytes = 0;
    }

    fn append(&mut self, output: Output, display_id: Option<String>) {
        self.size_bytes += size(&output);
        // Text of the same stream joins the last output, so that not each `print` becomes an output.
        if let Output::Stream { name, text } = &output
            && let Some(Output::Stream { name: last_name, text: last_text }) = self.outputs.last_mut()
            && last_name == name
        {
            text.pieces().for_each(|piece| last_text.push(piece));
            return;
        }
        self.outputs.push(output);
        self.display_ids.push(display_id);
    }

    fn update(&mut self, display_id: &str, new: &MimeBundle) -> bool {
        let mut is_changed = false;
        for (output, id) in self.outputs.iter_mut().zip(&self.display_ids) {
            if let Output::Display(bundle) | Output::Result { bundle, .. } = output
                && id.as_deref() == Some(display_id)
            {
                self.size_bytes = self.size_bytes - bundle_size(bundle) + bundle_size(new);
                bundle.clone_from(new);
                is_changed = true;
            }
        }
        is_changed
    }
}

fn size(output: &Output) -> usize {
    match output {
        Output::Stream { text, .. } => text.len(),
        Output::Display(bundle) | Output::Result { bundle, .. } => bundle_size(bundle),
        Output::Error { name, value, traceback } => {
            name.len() + value.len() + traceback.iter().map(String::len).sum::<usize>()
        }
        Output::Other(json) => json.bytes().len(),
    }
}

fn bundle_size(bundle: &MimeBundle) -> usize {
    bundle.data.bytes().len() + bundle.metadata.bytes().len()
}

#[cfg(test)]
mod tests {
    use notebook::Json;
    use serde_json::json;

    use super::*;
    use crate::Outcome;

    fn print(name: &str, text: &str) -> Event {
        Event::Output {
            output: Output::Stream { name: name.to_owned(), text: text.into() },
            display_id: None,
        }
    }

    fn bundle(text: &str) -> MimeBundle {
        MimeBundle { data: Json::from_value(&json!({ "text/plain": text })), metadata: Json::empty_object() }
    }

    fn display(id: &str, text: &str) -> Event {
        Event::Output { output: Output::Display(bundle(text)), display_id: Some(id.to_owned()) }
    }

    fn update(id: &str, text: &str) -> Event {
        Event::UpdateDisplay { display_id: id.to_owned(), bundle: bundle(text) }
    }

    /// One line per output.
    fn shown(events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let mut area = OutputArea::default();
        for event in events {
            area.apply(event);
        }
        let describe = |output: &Output| match output {
            Output::Stream { name, text } => format!("{name} {}", text.as_str()),
            Output::Display(bundle) => format!("display {}", bundle.data.as_str()),
            Output::Result { bundle, .. } => format!("result {}", bundle.data.as_str()),
            other => format!("{other:?}"),
        };
        area.outputs().iter().map(describe).collect()
    }

    #[test]
    fn chunks_of_a_stream_join_until_another_output_comes() {
        let events = [
            print("stdout", "a"),
            print("stdout", "b\n"),
            print("stderr", "oh"),
            print("stdout", "c"),
            Event::Started { execution_count: None },
            print("stdout", "d"),
            display("x", "1"),
            print("stdout", "e"),
        ];
        let expected =
            ["stdout ab\n", "stderr oh", "stdout cd", "display {\"text/plain\":\"1\"}", "stdout e"];
        assert_eq!(shown(events), expected);
    }

    #[test]
    fn clearing_takes_effect_at_once_or_with_the_next_output() {
        let clear = |wait| Event::ClearOutput { wait };
        assert!(shown([print("stdout", "a"), clear(false)]).is_empty());
        assert_eq!(shown([print("stdout", "a"), clear(false), print("stdout", "b")]), ["stdout b"]);
        // Nothing follows, so nothing is cleared: the last frame of an animation stays.
        assert_eq!(shown([print("stdout", "a"), clear(true)]), ["stdout a"]);
        assert_eq!(shown([print("stdout", "a"), clear(true), print("stdout", "b")]), ["stdout b"]);
        let cleared_twice = [print("stdout", "a"), clear(true), clear(false), print("stdout", "b")];
        assert_eq!(shown([&cleared_twice[..], &[print("stdout", "c")]].concat()), ["stdout bc"]);
    }

    #[test]
    fn an_update_replaces_every_display_of_that_name_and_no_other() {
        let result = Output::Result { execution_count: Some(1), bundle: bundle("old") };
        let events = [
            display("a", "old"),
            display("b", "old"),
            Event::Output { output: result, display_id: Some("a".to_owned()) },
            update("a", "new"),
            update("c", "nobody"),
        ];
        let line = |kind: &str, text: &str| format!("{kind} {{\"text/plain\":\"{text}\"}}");
        assert_eq!(shown(events), [line("display", "new"), line("display", "old"), line("result", "new")]);
        let cleared = [display("a", "old"), Event::ClearOutput { wait: false }, update("a", "new")];
        assert!(shown(cleared).is_empty());
    }

    #[test]
    fn apply_returns_whether_the_outputs_changed() {
        let mut area = OutputArea::default();
        assert!(!area.apply(Event::ClearOutput { wait: false }));
        assert!(area.apply(print("stdout", "four")));
        assert_eq!(area.size_bytes(), 4);
        assert!(!area.apply(Event::ClearOutput { wait: true }));
        assert!(!area.apply(update("a", "new")));
        assert!(!area.apply(Event::Finished(Outcome::Aborted)));
        assert!(area.apply(display("a", "1")));
        assert_eq!(area.size_bytes(), "{\"text/plain\":\"1\"}{}".len());
        assert!(area.apply(update("a", "one")));
        assert_eq!(area.size_bytes(), "{\"text/plain\":\"one\"}{}".len());
        assert!(area.apply(Event::ClearOutput { wait: false }));
        assert_eq!(area.size_bytes(), 0);
    }
}
