use std::sync::Arc;

use notebook::{CellId, CellType, Edit, Json, MimeBundle, NewCell, Output, Text};
use serde_json::json;

use crate::LiveNotebook;

fn stream(name: &str, text: &str) -> Output {
    Output::Stream { name: name.to_owned(), text: Text::from(text) }
}

fn image(text: &str) -> Output {
    let data = json!({ "text/plain": text, "image/png": "A".repeat(10_000) });
    Output::Display(MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() })
}

struct Cell {
    live: LiveNotebook,
    id: CellId,
}

impl Cell {
    fn new() -> Self {
        let mut live = LiveNotebook::new();
        let cell = NewCell::new(CellType::Code, "1");
        let id = cell.id.clone();
        live.apply(&[Edit::Insert { index: 0, cell }]).unwrap();
        Self { live, id }
    }

    /// Sets the outputs; how long the update is.
    fn set(&mut self, outputs: impl Into<Arc<[Output]>>) -> usize {
        let outputs = outputs.into();
        let edit = Edit::SetOutputs { id: self.id.clone(), outputs: outputs.clone(), execution_count: None };
        let update = self.live.apply(std::slice::from_ref(&edit)).unwrap();
        let notebook = self.live.snapshot().unwrap();
        assert!(edit.is_applied(&notebook));
        assert_eq!(notebook.cells()[0].output_count(), outputs.len());
        update.len()
    }
}

#[test]
fn equal_outputs_are_not_sent_again() {
    let mut cell = Cell::new();
    assert!(cell.set([image("a"), stream("stdout", "b")]) > 10_000);
    assert_eq!(cell.set([image("a"), stream("stdout", "b")]), 0);
    assert!(cell.set([image("a"), stream("stdout", "b"), stream("stderr", "c")]) < 200);
    assert!(cell.set([image("a")]) < 100);
    assert!(cell.set([]) < 100);
}

#[test]
fn a_growing_stream_is_appended_to() {
    let mut cell = Cell::new();
    let long = "\u{1f600}é\n".repeat(50_000);
    cell.set([image("a"), stream("stdout", &long)]);
    let mut text = Text::from(&*long);
    for _ in 0..3 {
        text.push("more \u{1f600}\n");
        assert!(
            cell.set([image("a"), Output::Stream { name: "stdout".to_owned(), text: text.clone() }]) < 100
        );
    }
    // A progress bar.
    assert!(cell.set([image("a"), stream("stdout", &format!("{long}less"))]) < 200);
}

#[test]
fn only_the_changed_output_is_replaced() {
    let mut cell = Cell::new();
    cell.set([image("a"), stream("stdout", "b"), image("c")]);
    assert!(cell.set([image("a"), stream("stderr", "b"), image("c")]) < 300);
    assert!(cell.set([image("a"), image("x"), image("c")]) < 11_000);
}

/// Somebody who prints while we set something else is not overwritten.
#[test]
fn text_appended_by_others_survives() {
    let mut cell = Cell::new();
    cell.set([stream("stdout", "a\n")]);
    let mut other = LiveNotebook::new();
    other.integrate(&cell.live.update_since(&other.state_vector()).unwrap()).unwrap();
    let append = |text: &str| Edit::SetOutputs {
        id: cell.id.clone(),
        outputs: [stream("stdout", text)].into(),
        execution_count: None,
    };
    let update = other.apply(&[append("a\nother\n")]).unwrap();
    cell.set([stream("stdout", "a\n"), stream("stderr", "own\n")]);
    cell.live.integrate(&update).unwrap();
    let outputs = cell.live.snapshot().unwrap().cells()[0].outputs();
    assert_eq!(outputs, [stream("stdout", "a\nother\n"), stream("stderr", "own\n")]);
}
