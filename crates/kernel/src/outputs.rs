//! The outputs of one cell, as its execution's events make them.

use notebook::{MimeBundle, Output};

use crate::Event;

/// Puts the events of one execution together into the outputs of a cell.
#[derive(Debug, Clone, Default)]
pub struct OutputArea {
    outputs: Vec<Output>,
    /// For each output the name under which it can be updated.
    display_ids: Vec<Option<String>>,
    /// How much the outputs hold, in bytes.
    size: usize,
    /// The next output replaces all.
    clears: bool,
}

impl OutputArea {
    /// No outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event; those that are not about outputs change nothing. Tells whether the outputs changed.
    pub fn take(&mut self, event: Event) -> bool {
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
            Event::Started { .. } | Event::InputWanted { .. } | Event::Finished(_) => false,
        }
    }

    /// The outputs so far.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// How much they hold, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    fn clear(&mut self) {
        self.outputs.clear();
        self.display_ids.clear();
        self.size = 0;
    }

    fn append(&mut self, output: Output, display_id: Option<String>) {
        self.size += size(&output);
        // A stream goes on in its last output, so that prints do not become an output each.
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
                self.size = self.size - bundle_size(bundle) + bundle_size(new);
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

    /// A line for each output.
    fn shown(events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let mut area = OutputArea::new();
        for event in events {
            area.take(event);
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
    fn a_stream_goes_on_until_another_output_comes() {
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
    fn it_tells_whether_something_changed() {
        let mut area = OutputArea::new();
        assert!(!area.take(Event::ClearOutput { wait: false }));
        assert!(area.take(print("stdout", "four")));
        assert_eq!(area.size(), 4);
        assert!(!area.take(Event::ClearOutput { wait: true }));
        assert!(!area.take(update("a", "new")));
        assert!(!area.take(Event::Finished(Outcome::Aborted)));
        assert!(area.take(display("a", "1")));
        assert_eq!(area.size(), "{\"text/plain\":\"1\"}{}".len());
        assert!(area.take(update("a", "one")));
        assert_eq!(area.size(), "{\"text/plain\":\"one\"}{}".len());
        assert!(area.take(Event::ClearOutput { wait: false }));
        assert_eq!(area.size(), 0);
    }
}
