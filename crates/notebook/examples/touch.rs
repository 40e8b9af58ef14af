//! Reads a notebook, makes the changes that are named, and writes it: `touch INPUT OUTPUT [CHANGE ...]`.
//!
//! The end-to-end tests compare what it writes with what Python's nbformat writes.

use std::error::Error;
use std::fs;

use bytes::Bytes;
use notebook::{CellId, CellType, Edit, Json, Kernelspec, MimeBundle, NewCell, Notebook, Output, Text};

fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "an example is a program")]
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: touch INPUT OUTPUT [CHANGE ...]".into());
    };
    let mut notebook = Notebook::parse(Bytes::from(fs::read(input)?))?;
    for change in arguments {
        for edit in edits(&notebook, &change)? {
            notebook.apply(&edit)?;
        }
    }
    Ok(fs::write(output, notebook.to_bytes())?)
}

const TYPES: [CellType; 3] = [CellType::Markdown, CellType::Code, CellType::Raw];

fn set_type((id, cell_type): (CellId, CellType)) -> Edit {
    Edit::SetType { id, cell_type }
}

fn patch() -> Json {
    let patch =
        serde_json::json!({ "tags": ["a", "é"], "collapsed": null, "jupyter": { "source_hidden": true } });
    Json::from_value(&patch)
}

fn edits(notebook: &Notebook, change: &str) -> Result<Vec<Edit>, Box<dyn Error>> {
    let ids = || notebook.cells().iter().map(|cell| cell.id().clone());
    let code_cells = || notebook.cells().iter().filter(|cell| cell.is_code()).map(|cell| cell.id().clone());
    let len = notebook.cells().len();
    let set_source =
        |id| Edit::SetSource { id, source: "touched = 1\n\u{2028}\"\\é\u{1}\"\r\nlast".to_owned() };
    let new_cell = |id: &str, kind| NewCell { id: id.into(), ..NewCell::new(kind, "new\ncell") };
    Ok(match change {
        "source" => ids().take(1).map(set_source).collect(),
        "sources" => ids().map(set_source).collect(),
        "insert" => vec![
            Edit::Insert { index: 0, cell: new_cell("new-first", CellType::Markdown) },
            Edit::Insert { index: len + 1, cell: new_cell("new-last", CellType::Code) },
            Edit::Insert { index: 1, cell: new_cell("new-second", CellType::Raw) },
        ],
        "delete" => vec![Edit::Delete { ids: ids().take(1).collect() }],
        "empty" => vec![Edit::Delete { ids: ids().collect() }],
        "move" => ids().take(1).map(|id| Edit::Move { id, index: len - 1 }).collect(),
        "outputs" => code_cells().map(|id| set_outputs(id, outputs())).collect(),
        "clear" => code_cells().map(|id| set_outputs(id, Vec::new())).collect(),
        "types" => ids().zip(TYPES.into_iter().cycle()).map(set_type).collect(),
        "metadata" => ids().map(|id| Edit::MergeMetadata { id, patch: patch() }).collect(),
        "kernel" => vec![
            Edit::set_kernelspec(&Kernelspec { name: "new".to_owned(), display_name: None, language: None }),
            Edit::set_language_info(Json::from_value(&serde_json::json!({ "name": "new", "version": "1" }))),
        ],
        _ => return Err(format!("no change is called {change}").into()),
    })
}

fn set_outputs(id: CellId, outputs: Vec<Output>) -> Edit {
    Edit::SetOutputs { id, execution_count: (!outputs.is_empty()).then_some(7), outputs: outputs.into() }
}

fn outputs() -> Vec<Output> {
    let data = serde_json::json!({
        "text/plain": "one\ntwo",
        "image/png": "aGVsbG8=\n",
        "application/json": { "b": [1.5, null], "a": "x\ny" },
        "image/svg+xml": "<svg>\n</svg>",
    });
    let metadata = serde_json::json!({ "image/png": { "width": 1 } });
    let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::from_value(&metadata) };
    vec![
        Output::Stream { name: "stderr".to_owned(), text: Text::from("a\r\nb\u{2028}c\rd") },
        Output::Display(bundle.clone()),
        Output::Result { execution_count: Some(7), bundle },
        Output::Error {
            name: "ValueError".to_owned(),
            value: "é\n".to_owned(),
            traceback: vec!["\u{1b}[31mline\u{1b}[0m\nsecond".to_owned(), String::new()],
        },
    ]
}
