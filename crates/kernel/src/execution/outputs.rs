use notebook::{Json, MimeBundle, Output};
use serde_json::json;

use crate::Event;
use crate::widgets::{shown_in, shown_widget};

/// The outputs of a cell, built from the events of its execution.
#[derive(Debug, Clone, Default)]
pub struct OutputArea {
    outputs: Vec<Output>,
    /// For each output the id under which it can be updated.
    display_ids: Vec<Option<String>>,
    size_bytes: usize,
    /// The next output replaces all others.
    clears: bool,
    /// The `Output` widget that takes the text of outputs.
    captured_by: Option<String>,
    /// Outputs that each such widget has taken.
    captured: Vec<(String, OutputArea)>,
    widget_state: Option<Json>,
}

impl OutputArea {
    /// Applies one event. Returns whether the outputs changed.
    pub fn apply(&mut self, event: Event) -> bool {
        if self.is_captured(&event) {
            if let Some(area) = self.capturing() {
                area.apply(event);
            }
            return false;
        }
        match event {
            Event::Captured(by) => {
                self.captured_by = by;
                false
            }
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
            Event::Widget { model_id, text } => self.update_widget(&model_id, &text),
            Event::WidgetState(state) => {
                let is_other = self.widget_state.as_ref() != Some(&state);
                self.widget_state = Some(state);
                is_other
            }
            _ => false,
        }
    }

    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The state of the widgets that the outputs show, for [`saved_widgets`](crate::saved_widgets).
    pub fn widget_state(&self) -> Option<&Json> {
        self.widget_state.as_ref()
    }

    pub fn size_bytes(&self) -> usize {
        self.size_bytes + self.captured.iter().map(|(_, area)| area.size_bytes).sum::<usize>()
    }

    /// Outputs taken by `Output` widgets of other cells, each with its model.
    pub fn captured(&self) -> impl Iterator<Item = (&str, &[Output])> {
        let elsewhere = self.captured.iter().filter(|(model, _)| !self.shows(model));
        elsewhere.map(|(model, area)| (model.as_str(), area.outputs())).filter(|(_, it)| !it.is_empty())
    }

    fn shows(&self, model: &str) -> bool {
        let states = self.widget_state.as_ref().and_then(|state| state.member("state"));
        states.is_some_and(|states| states.member(model).is_some())
            || self.outputs.iter().any(|output| shown_widget(output).as_deref() == Some(model))
    }

    fn is_captured(&self, event: &Event) -> bool {
        let is_taken = match event {
            Event::Output { output, .. } => is_taken(output),
            _ => matches!(event, Event::ClearOutput { .. }),
        };
        self.captured_by.is_some() && is_taken
    }

    /// The area of the widget that takes outputs now.
    fn capturing(&mut self) -> Option<&mut Self> {
        let model = self.captured_by.clone()?;
        let index = self.captured.iter().position(|(known, _)| *known == model).unwrap_or_else(|| {
            self.captured.push((model, Self::default()));
            self.captured.len() - 1
        });
        self.captured.get_mut(index).map(|(_, area)| area)
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

    /// Shows in each output of a widget what a person sees of it, instead of what it was when it was displayed.
    fn update_widget(&mut self, model_id: &str, text: &str) -> bool {
        let mut is_changed = false;
        for output in &mut self.outputs {
            if let Output::Display(bundle) | Output::Result { bundle, .. } = output
                && shown_in(bundle).is_some_and(|shown| shown == model_id)
            {
                let data = bundle.data.merged(&Json::from_value(&json!({ "text/plain": text })));
                self.size_bytes = self.size_bytes - bundle.data.bytes().len() + data.bytes().len();
                is_changed |= bundle.data.as_str() != data.as_str();
                bundle.data = data;
            }
        }
        is_changed
    }
}

/// Whether a widget takes an output. Pictures stay in the cell, where a model sees them.
pub(crate) fn is_taken(output: &Output) -> bool {
    match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            !bundle.data.members().any(|(mime, _)| mime.starts_with("image/"))
        }
        Output::Stream { .. } | Output::Error { .. } => true,
        Output::Other(_) => false,
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
    use super::*;
    use crate::Outcome;
    use crate::widgets::VIEW;

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
    fn a_widget_is_shown_as_it_is_now_wherever_it_is_displayed() {
        let widget = |id: &str| {
            let data = json!({ "text/plain": "FloatProgress(value=0.0)", VIEW: { "model_id": id } });
            let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
            Event::Output { output: Output::Display(bundle), display_id: None }
        };
        let mut area = OutputArea::default();
        for event in [widget("a"), widget("b"), display("c", "plain"), widget("a")] {
            area.apply(event);
        }
        let moved = Event::Widget { model_id: "a".to_owned(), text: "50%".to_owned() };
        assert!(area.apply(moved.clone()));
        assert!(!area.apply(moved));
        let texts: Vec<_> = area
            .outputs()
            .iter()
            .map(|output| match output {
                Output::Display(bundle) => bundle.text("text/plain").unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["50%", "FloatProgress(value=0.0)", "plain", "50%"]);
        assert_eq!(area.size_bytes(), area.outputs().iter().map(size).sum::<usize>());
        assert!(area.apply(Event::WidgetState(Json::empty_object())));
        assert!(area.widget_state().is_some());
    }

    #[test]
    fn what_a_widget_takes_is_not_in_the_cell() {
        let picture = MimeBundle {
            data: Json::from_value(&json!({ "image/png": "", "text/plain": "<Figure>" })),
            metadata: Json::empty_object(),
        };
        let events = [
            print("stdout", "a"),
            Event::Captured(Some("w".to_owned())),
            print("stdout", "inside"),
            Event::ClearOutput { wait: false },
            display("x", "inside, too"),
            Event::Output { output: Output::Display(picture), display_id: None },
            Event::Captured(None),
            print("stdout", "b"),
        ];
        let mut area = OutputArea::default();
        for event in events.clone() {
            area.apply(event);
        }
        let of_w: Vec<_> = area.captured().map(|(model, outputs)| (model, outputs.len())).collect();
        assert_eq!(of_w, [("w", 1)], "what was taken before it was cleared is gone");
        let own = json!({ "state": { "w": {} } });
        area.apply(Event::WidgetState(Json::from_value(&own)));
        assert_eq!(area.captured().count(), 0, "its own outputs show the widget");
        let picture = "display {\"image/png\":\"\",\"text/plain\":\"<Figure>\"}";
        assert_eq!(shown(events), ["stdout a", picture, "stdout b"]);
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
