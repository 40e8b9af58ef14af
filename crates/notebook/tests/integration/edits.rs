//! Edits: their effect, what is refused, and how a modified file looks.

use std::sync::Arc;

use notebook::{
    CellId, CellType, Edit, EditError, Json, Kernelspec, MimeBundle, NewCell, Notebook, Output, Text, placed,
};
use serde_json::json;

use crate::files::{of_corpus, parse};

fn insert(notebook: &mut Notebook, index: usize, id: &str, kind: CellType, source: &str) {
    let cell = NewCell { id: id.into(), ..NewCell::new(kind, source) };
    notebook.apply(&Edit::Insert { index, cell }).unwrap();
}

fn text(notebook: &Notebook) -> String {
    String::from_utf8(notebook.to_bytes()).unwrap()
}

/// Another writer has added cells since the edits were made.
#[test]
fn new_cells_follow_the_cells_that_they_were_placed_behind() {
    let mut before = Notebook::new();
    for id in ["b", "a"] {
        insert(&mut before, 0, id, CellType::Code, "");
    }
    let new = |index, id: &str| {
        let cell = NewCell { id: id.into(), ..NewCell::new(CellType::Code, "") };
        Edit::Insert { index, cell }
    };
    let apply = |edits: Vec<Edit>, others: &[(usize, &str)]| {
        let edits = placed(&before, edits);
        let mut now = before.clone();
        for (index, id) in others {
            insert(&mut now, *index, id, CellType::Code, "");
        }
        for edit in &edits {
            now.apply(edit).unwrap();
        }
        now.cells().iter().map(|cell| cell.id().to_string()).collect::<Vec<_>>().concat()
    };
    assert_eq!(apply(vec![new(2, "1"), new(3, "2")], &[(2, "x")]), "abx12", "at the end");
    assert_eq!(apply(vec![new(1, "1"), new(2, "2")], &[(0, "x"), (2, "y")]), "xa12yb");
    assert_eq!(apply(vec![new(0, "1")], &[(0, "x")]), "1xab");
    let delete = Edit::Delete { ids: vec!["a".into()] };
    assert_eq!(apply(vec![new(1, "1"), delete], &[]), "1b");
}

#[test]
fn a_new_notebook_is_written_like_jupyter() {
    let mut notebook = Notebook::new();
    insert(&mut notebook, 0, "second", CellType::Code, "print('é')\n1 + 1");
    insert(&mut notebook, 0, "first", CellType::Markdown, "");
    let data = json!({ "text/plain": "2\n3", "image/png": "aGk=", "application/json": [1.5, { "b": null, "a": "x" }] });
    let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
    let outputs = vec![
        Output::Stream { name: "stdout".to_owned(), text: Text::from("é\nno end") },
        Output::Result { execution_count: Some(1), bundle: bundle.clone() },
        Output::Display(bundle),
        Output::Error {
            name: "E".to_owned(),
            value: "v".to_owned(),
            traceback: vec!["\u{1b}[0m a\nb".to_owned()],
        },
    ];
    let outputs = Edit::SetOutputs { id: "second".into(), outputs: outputs.into(), execution_count: Some(1) };
    notebook.apply(&outputs).unwrap();
    let spec =
        Kernelspec { name: "python3".to_owned(), display_name: None, language: Some("python".to_owned()) };
    notebook.apply(&Edit::set_kernelspec(&spec)).unwrap();
    notebook
        .apply(&Edit::set_language_info(Json::from_value(&json!({ "version": "3", "name": "python" }))))
        .unwrap();
    insta::assert_snapshot!(text(&notebook));
}

#[test]
fn new_cells_follow_the_style_of_the_file() {
    for name in ["crlf", "indent-4", "tabs-indent", "compact-one-line"] {
        let mut notebook = of_corpus(name);
        insert(&mut notebook, 1, "new", CellType::Code, "a\nb");
        let text = text(&notebook).replace('\r', "\\r").replace('\t', "→");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn whitespace_between_cells_is_kept() {
    let cell = |id: &str| format!(r#"{{"cell_type":"raw","id":"{id}","metadata":{{}},"source":[]}}"#);
    let file = |cells: &str| {
        let cells = cells.replace('A', &cell("a")).replace('B', &cell("b")).replace('C', &cell("c"));
        format!(r#"{{"nbformat":4,"nbformat_minor":5,"metadata":{{}},"cells":[{cells}]}}"#)
    };
    let delete = |ids: &[&str]| Edit::Delete { ids: ids.iter().map(|id| (*id).into()).collect() };
    let move_cell = |id: &str, index| Edit::Move { id: id.into(), index };
    for (before, edit, after) in [
        ("A ,  B\n,   C\t", delete(&["a"]), "B\n,   C\t"),
        ("A ,  B\n,   C\t", delete(&["b"]), "A ,   C\t"),
        ("A ,  B\n,   C\t", delete(&["c"]), "A ,  B\t"),
        ("A ,  B\n,   C\t", delete(&["a", "b", "c"]), ""),
        ("A ,  B\n,   C\t", move_cell("c", 0), "C,  A ,  B\t"),
        ("A ,  B\n,   C\t", move_cell("a", 2), "B\n,   C,  A\t"),
        ("\n A,\n B\n", move_cell("a", 1), "\n B,\n A\n"),
        (" A,B ", move_cell("a", 1), " B,A "),
    ] {
        let mut notebook = parse(file(before)).unwrap();
        notebook.apply(&edit).unwrap();
        assert_eq!(text(&notebook), file(after));
    }
}

#[test]
fn modifying_a_file_repairs_it() {
    for name in [
        "missing-metadata",
        "null-execution-count-missing",
        "execution-count-odd",
        "cells-null",
        "metadata-null",
        "missing-outputs",
    ] {
        let mut notebook = of_corpus(name);
        insert(&mut notebook, 0, "new", CellType::Raw, "");
        insta::assert_snapshot!(format!("repaired-{name}"), text(&notebook));
    }
}

#[test]
fn missing_top_level_members_are_added_in_order() {
    for (before, after) in [
        (
            r#"{"cells":[],"m":7}"#,
            "{\"cells\":[],\"m\":7,\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4}",
        ),
        (
            r#"{"nbformat":4,"z":1}"#,
            "{\"cells\": [],\n \"metadata\": {},\n \"nbformat\":4,\"nbformat_minor\": 4,\n \"z\":1}",
        ),
    ] {
        let mut notebook = parse(before).unwrap();
        insert(&mut notebook, 0, "new", CellType::Raw, "");
        notebook.apply(&Edit::Delete { ids: vec!["new".into()] }).unwrap();
        assert_eq!(text(&notebook), after);
    }
}

#[test]
fn incomplete_kernelspecs_are_repaired() {
    for (name, metadata) in [
        ("kernelspec-empty", json!({})),
        ("kernelspec-null", json!({ "language_info": { "name": "R" } })),
        (
            "kernelspec-without-name",
            json!({ "kernelspec": { "display_name": "Python 3", "language": "python", "name": "" } }),
        ),
        (
            "kernelspec-without-display-name",
            json!({ "kernelspec": { "env": { "A": "1" }, "name": "python3", "display_name": "python3" } }),
        ),
    ] {
        let mut notebook = of_corpus(name);
        insert(&mut notebook, 0, "new", CellType::Raw, "");
        let again = parse(notebook.to_bytes()).unwrap();
        assert_eq!(again.metadata().to_value(), metadata, "{name}");
    }
}

#[test]
fn a_refused_edit_changes_nothing() {
    let mut notebook = of_corpus("clean-4.5");
    let before = notebook.to_bytes();
    let unknown = || CellId::from("nope");
    let outputs = |id: &str| Edit::SetOutputs { id: id.into(), outputs: [].into(), execution_count: Some(1) };
    let cell = |id: &str| NewCell { id: id.into(), ..NewCell::new(CellType::Code, "") };
    let odd = NewCell { metadata: Some(Json::from_value(&json!([]))), ..cell("new") };
    let refused = [
        (Edit::SetSource { id: unknown(), source: String::new() }, EditError::UnknownCell { id: unknown() }),
        (Edit::Delete { ids: vec!["md-1".into(), unknown()] }, EditError::UnknownCell { id: unknown() }),
        (Edit::Move { id: "md-1".into(), index: 3 }, EditError::OutOfRange { index: 3, len: 3 }),
        (outputs("md-1"), EditError::NotCode { id: "md-1".into() }),
        (Edit::Insert { index: 0, cell: cell("md-1") }, EditError::DuplicateId { id: "md-1".into() }),
        (Edit::Insert { index: 0, cell: cell("a b") }, EditError::InvalidId { id: "a b".into() }),
        (Edit::Insert { index: 0, cell: odd }, EditError::NotAnObject { what: "metadata of a cell" }),
        (Edit::SetType { id: unknown(), cell_type: CellType::Raw }, EditError::UnknownCell { id: unknown() }),
        (
            Edit::MergeMetadata { id: "md-1".into(), patch: Json::from_value(&json!([])) },
            EditError::NotAnObject { what: "metadata of a cell" },
        ),
    ];
    for (edit, error) in refused {
        assert_eq!(notebook.apply(&edit), Err(error));
    }
    assert!(!notebook.is_modified());
    assert_eq!(notebook.to_bytes(), before);
}

/// Others may have deleted cells since the index was chosen.
#[test]
fn a_cell_is_inserted_at_the_end_if_the_index_is_beyond_it() {
    let mut notebook = Notebook::new();
    for (index, id) in [(0, "a"), (7, "b"), (8, "c")] {
        insert(&mut notebook, index, id, CellType::Code, "");
    }
    assert!(notebook.cells().iter().map(|cell| cell.id().as_str()).eq(["a", "b", "c"]));
}

/// Whatever a cell holds, its new type is valid, and members that nobody knows stay.
#[test]
fn a_changed_type_keeps_what_is_unknown() {
    let cell = json!({
        "cell_type": "code", "id": "a", "source": "x", "custom": 1.50, "metadata": { "b": 1 },
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": "1" }], "execution_count": 3,
    });
    let text = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell] }).to_string();
    let mut notebook = parse(text).unwrap();
    let set = |cell_type| Edit::SetType { id: "a".into(), cell_type };
    notebook.apply(&set(CellType::Markdown)).unwrap();
    let read = |notebook: &Notebook| -> serde_json::Value {
        let mut written: serde_json::Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
        written["cells"][0].take()
    };
    let markdown = json!({
        "cell_type": "markdown", "custom": 1.5, "id": "a", "metadata": { "b": 1 }, "source": ["x"],
    });
    assert_eq!(read(&notebook), markdown);
    notebook.apply(&set(CellType::Code)).unwrap();
    let code = json!({
        "cell_type": "code", "custom": 1.5, "execution_count": null, "id": "a", "metadata": { "b": 1 }, "outputs": [],
        "source": ["x"],
    });
    assert_eq!(read(&notebook), code);
}

#[test]
fn attachments_stay_with_text_and_are_copied_into_new_cells() {
    let attachments = json!({ "a.png": { "image/png": "aGk=" } });
    let mut cell = NewCell { id: "new".into(), ..NewCell::new(CellType::Markdown, "![](attachment:a.png)") };
    cell.attachments = Some(Json::from_value(&attachments));
    let mut notebook = Notebook::new();
    notebook.apply(&Edit::Insert { index: 0, cell }).unwrap();
    let attached = |notebook: &Notebook| {
        let again = parse(notebook.to_bytes()).unwrap();
        again.cells()[0].attachments().map(|attachments| attachments.to_value())
    };
    assert_eq!(attached(&notebook), Some(attachments.clone()));
    notebook.apply(&Edit::SetType { id: "new".into(), cell_type: CellType::Raw }).unwrap();
    assert_eq!(attached(&notebook), Some(attachments));
    notebook.apply(&Edit::SetType { id: "new".into(), cell_type: CellType::Code }).unwrap();
    assert_eq!(attached(&notebook), None);
}

#[test]
fn metadata_is_merged_and_the_rest_of_the_cell_stays() {
    let cell = r#"{"cell_type": "code", "id": "a", "source": "x", "metadata": {"z": 1.50, "t": {"u": 1, "v": 2}},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}], "execution_count": 3}"#;
    let text = format!(r#"{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": [{cell}]}}"#);
    let mut notebook = parse(text).unwrap();
    let revision = notebook.cells()[0].revision().to_owned();
    let merge =
        |patch: serde_json::Value| Edit::MergeMetadata { id: "a".into(), patch: Json::from_value(&patch) };
    notebook.apply(&merge(json!({ "z": 1.5, "gone": null, "t": { "u": 1 } }))).unwrap();
    assert!(!notebook.is_modified(), "it has these members already");
    notebook.apply(&merge(json!({ "tags": ["x"], "t": { "u": null } }))).unwrap();
    assert_ne!(notebook.cells()[0].revision(), revision);
    let written = String::from_utf8(notebook.to_bytes()).unwrap();
    assert!(written.contains("\"z\": 1.50"), "{written}");
    let again = parse(written).unwrap();
    let cell = &again.cells()[0];
    assert_eq!(cell.metadata().to_value(), json!({ "tags": ["x"], "t": { "v": 2 }, "z": 1.5 }));
    assert_eq!((cell.output_count(), cell.execution_count()), (1, Some(3)));
}

#[test]
fn a_clone_does_not_see_later_edits() {
    let mut notebook = of_corpus("clean-4.5");
    let before = notebook.clone();
    notebook.apply(&Edit::SetSource { id: "code-1".into(), source: "y".to_owned() }).unwrap();
    notebook.apply(&Edit::Delete { ids: vec!["md-1".into()] }).unwrap();
    assert_eq!(before.cells().len(), 3);
    assert_eq!(before.cell(&"code-1".into()).unwrap().1.source(), "x = 1\nprint(x)");
    assert_eq!(notebook.cell(&"code-1".into()).unwrap().1.source(), "y");
}

#[test]
fn the_revision_depends_on_type_source_and_metadata() {
    let cell = |cell: serde_json::Value| {
        let text = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell] }).to_string();
        parse(text).unwrap().cells()[0].revision().to_owned()
    };
    let code = |source: serde_json::Value, metadata: serde_json::Value, count: u64| {
        cell(
            json!({ "cell_type": "code", "id": "a", "source": source, "metadata": metadata, "outputs": [], "execution_count": count }),
        )
    };
    let revision = code(json!("a\nb"), json!({ "x": [1], "y": "é" }), 1);
    assert_eq!(revision.len(), 8);
    assert_eq!(revision, code(json!(["a\n", "b"]), json!({ "y": "é", "x": [1] }), 2));
    assert_ne!(revision, code(json!("a\nc"), json!({ "x": [1], "y": "é" }), 1));
    assert_ne!(revision, code(json!("a\nb"), json!({ "x": [2], "y": "é" }), 1));
    assert_ne!(
        revision,
        cell(json!({ "cell_type": "raw", "id": "a", "source": "a\nb", "metadata": { "x": [1], "y": "é" } }))
    );
    let mut notebook = of_corpus("clean-4.5");
    let before = notebook.cells()[1].revision().to_owned();
    let set = |source: &str| Edit::SetSource { id: "code-1".into(), source: source.to_owned() };
    let clear = Edit::SetOutputs { id: "code-1".into(), outputs: Arc::new([]), execution_count: None };
    notebook.apply(&clear).unwrap();
    assert_eq!(notebook.cells()[1].revision(), before);
    notebook.apply(&set("z")).unwrap();
    assert_ne!(notebook.cells()[1].revision(), before);
    notebook.apply(&set("x = 1\nprint(x)")).unwrap();
    assert_eq!(notebook.cells()[1].revision(), before);
}

#[test]
fn unknown_outputs_are_kept() {
    let mut notebook = of_corpus("unknown-output-type");
    let outputs = notebook.cells()[0].outputs();
    let set =
        Edit::SetOutputs { id: "code-1".into(), outputs: outputs.clone().into(), execution_count: Some(9) };
    notebook.apply(&set).unwrap();
    let again = parse(notebook.to_bytes()).unwrap();
    assert_eq!(again.cells()[0].output_count(), outputs.len());
    assert!(text(&again).contains("\"display_id\": \"q\""));
}

#[test]
fn attachments_and_metadata_are_read() {
    let notebook = of_corpus("attachments");
    let attachments = notebook.cells()[0].attachments().unwrap();
    let names: Vec<_> = attachments.members().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.png", "n.txt"]);
    assert!(of_corpus("clean-4.5").cells()[0].attachments().is_none());
    assert_eq!(of_corpus("scrolled-auto").cells()[0].metadata().to_value()["scrolled"], "auto");
}
