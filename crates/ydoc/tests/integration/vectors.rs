//! Documents that `jupyter_ydoc` and `@jupyter/ydoc` wrote; see `tests/data/generate.py` and `generate.mjs`.

use std::path::{Path, PathBuf};

use notebook::{CellType, Edit, Json, Kernelspec, NewCell, Notebook, Output, Text};
use serde_json::json;
use ydoc::LiveNotebook;

const DOCUMENTS: [&str; 6] =
    ["standard", "plain_outputs", "text_as_list", "history", "version_4_4", "javascript"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn read(name: &str) -> LiveNotebook {
    let mut live = LiveNotebook::new();
    let update = std::fs::read(folder().join(name).with_extension("update")).unwrap();
    assert!(live.integrate(&update).unwrap());
    assert!(!live.is_incomplete());
    live
}

fn written(notebook: &Notebook) -> String {
    String::from_utf8(notebook.to_bytes()).unwrap()
}

/// What we would write into the file is what the server writes.
#[test]
fn documents_are_read_like_jupyter() {
    for name in DOCUMENTS {
        // They differ only in how outputs are stored.
        let file = if name == "plain_outputs" { "standard" } else { name };
        let saved = std::fs::read_to_string(folder().join(file).with_extension("ipynb")).unwrap();
        let notebook = read(name).snapshot().unwrap();
        assert!(!notebook.is_modified());
        assert_eq!(written(&notebook), saved, "{name}");
    }
}

/// However an output is stored, it reads the same.
#[test]
fn outputs_of_all_shapes_are_read_the_same() {
    let outputs = |name| read(name).snapshot().unwrap().cells()[1].outputs();
    assert_eq!(outputs("standard"), outputs("plain_outputs"));
}

/// Edits every document in every way, and checks that what we wrote is what the server would read.
///
/// With `YDOC_EXPORT` set to a folder, the documents are left there for `generate.py check`.
#[test]
fn edited_documents_match_edited_notebooks() {
    #[expect(clippy::disallowed_methods, reason = "a developer asks for the documents this way")]
    let export = std::env::var_os("YDOC_EXPORT").map(PathBuf::from);
    for name in DOCUMENTS {
        let mut live = read(name);
        let mut planned = live.snapshot().unwrap();
        for edits in edits(&planned) {
            for edit in &edits {
                planned.apply(edit).unwrap();
            }
            let update = live.apply(&edits).unwrap();
            assert!(!update.is_empty());
        }
        let now = live.snapshot().unwrap();
        assert_eq!(written(&now), written(&planned), "{name}");
        let mut other = LiveNotebook::new();
        other.integrate(&live.update_since(&other.state_vector()).unwrap()).unwrap();
        assert_eq!(written(&other.snapshot().unwrap()), written(&planned), "{name}");
        if let Some(folder) = &export {
            let update = live.update_since(&LiveNotebook::new().state_vector()).unwrap();
            std::fs::write(folder.join(name).with_extension("update"), update).unwrap();
            std::fs::write(folder.join(name).with_extension("ipynb"), written(&now)).unwrap();
        }
    }
}

fn edits(notebook: &Notebook) -> Vec<Vec<Edit>> {
    let json = |value| Json::from_value(&value);
    let code = notebook.cells().iter().find(|cell| cell.is_code()).unwrap().id().to_owned();
    let last = notebook.cells().last().unwrap().id().to_owned();
    let mut cell = NewCell::new(CellType::Code, "new \u{1f600}");
    cell.metadata = Some(json(json!({ "tags": ["a"], "m": [{ "b": 1.5 }], "n": 12_345_678_901_u64 })));
    let id = cell.id.clone();
    let stream = |name: &str, text: &str| Output::Stream { name: name.to_owned(), text: Text::from(text) };
    let bundle = || notebook::MimeBundle {
        data: json(json!({ "text/plain": "x", "application/json": { "z": [1, -2, 2.5e-7], "a": null } })),
        metadata: json(json!({})),
    };
    let set = |outputs: Vec<Output>, execution_count| Edit::SetOutputs {
        id: code.clone(),
        outputs: outputs.into(),
        execution_count,
    };
    vec![
        vec![
            Edit::Insert { index: 0, cell },
            Edit::SetSource { id: id.clone(), source: "newer \u{1d518}".to_owned() },
        ],
        vec![Edit::Insert { index: 1, cell: NewCell::new(CellType::Markdown, "# text") }],
        vec![Edit::SetSource { id: code.clone(), source: "a = 1\n\u{1f469}\u{200d}\u{1f52c}\nb".to_owned() }],
        vec![set(vec![stream("stdout", "one\n")], None)],
        vec![set(vec![stream("stdout", "one\ntwo\n"), Output::Display(bundle())], None)],
        vec![set(
            vec![
                stream("stdout", "one\rtwo\n"),
                Output::Display(bundle()),
                stream("stderr", ""),
                Output::Result { execution_count: Some(7), bundle: bundle() },
                Output::Error {
                    name: "E".to_owned(),
                    value: "v".to_owned(),
                    traceback: vec!["t".to_owned()],
                },
            ],
            Some(7),
        )],
        vec![Edit::MergeMetadata {
            id: code.clone(),
            patch: json(json!({ "tags": ["b"], "collapsed": null, "jupyter": { "source_hidden": true } })),
        }],
        vec![Edit::SetType { id: code.clone(), cell_type: CellType::Markdown }],
        vec![Edit::SetType { id: code.clone(), cell_type: CellType::Code }],
        vec![Edit::Move { id: code.clone(), index: 0 }],
        vec![Edit::Move { id: code.clone(), index: notebook.cells().len() }],
        vec![Edit::Delete { ids: vec![last, id] }]
            .into_iter()
            .filter(|_| notebook.cells().len() > 1)
            .chain([Edit::set_language_info(json(json!({ "name": "julia", "version": "1.0" })))])
            .collect(),
        vec![Edit::set_kernelspec(&Kernelspec {
            name: "julia".to_owned(),
            display_name: None,
            language: Some("julia".to_owned()),
        })],
        vec![Edit::SetMetadata { name: "kernelspec".to_owned(), value: None }],
    ]
}
