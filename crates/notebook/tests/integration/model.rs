//! Any notebook and any sequence of edits, beside a naive model: a list of JSON values.

use notebook::{CellType, Edit, Json, MimeBundle, NewCell, Output, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::files::{cells_of, parse};

#[derive(Debug, Clone)]
enum Step {
    Insert { at: usize, kind: CellType, source: String },
    SetSource { cell: usize, source: String },
    Move { cell: usize, to: usize },
    Delete { cells: Vec<usize> },
    SetOutputs { cell: usize, text: String, count: Option<u64> },
    SetType { cell: usize, kind: CellType },
    MergeMetadata { cell: usize, patch: Value },
}

fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["a", "é", "\n", "\r\n", "\r", "\u{2028}", "\"", "\\", "\u{0}", "# ", "😀", "\u{85}", "\t", "{", "]"];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat())
}

fn kind() -> impl Strategy<Value = CellType> {
    prop::sample::select(vec![CellType::Code, CellType::Markdown, CellType::Raw])
}

/// A string of nbformat in one of its two forms.
fn multiline() -> impl Strategy<Value = Value> {
    prop_oneof![text().prop_map(Value::from), prop::collection::vec(text(), 0..4).prop_map(Value::from),]
}

fn output() -> impl Strategy<Value = Value> {
    let data = || {
        (multiline(), any::<i64>()).prop_map(
            |(text, number)| json!({ "text/plain": text, "application/json": { "z": number, "a": [] } }),
        )
    };
    prop_oneof![
        multiline().prop_map(|text| json!({ "output_type": "stream", "name": "stdout", "text": text })),
        data().prop_map(|data| json!({ "output_type": "display_data", "data": data, "metadata": {} })),
        (data(), 0..9_u64).prop_map(|(data, count)| json!({ "output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count })),
        text().prop_map(|text| json!({ "output_type": "error", "ename": "E", "evalue": text, "traceback": [text] })),
    ]
}

fn cell() -> impl Strategy<Value = Value> {
    let metadata =
        prop_oneof![Just(json!({})), text().prop_map(|text| json!({ "z": text, "a": { "tags": [1, 2.5] } }))];
    let outputs = prop::collection::vec(output(), 0..3);
    (kind(), multiline(), metadata, outputs, prop::option::of(0..9_u64)).prop_map(
        |(kind, source, metadata, outputs, count)| {
            let mut cell = json!({ "source": source, "cell_type": kind.name(), "metadata": metadata });
            if kind == CellType::Code {
                cell["outputs"] = outputs.into();
                cell["execution_count"] = count.into();
            }
            cell
        },
    )
}

/// Changes of metadata: a text, a member of an object, or a removal.
fn patch() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|text| json!({ "z": text, "tags": [text] })),
        text().prop_map(|text| json!({ "a": { "new": text, "tags": null } })),
        Just(json!({ "z": null, "a": null })),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..9_usize, kind(), text()).prop_map(|(at, kind, source)| Step::Insert { at, kind, source }),
        (0..9_usize, text()).prop_map(|(cell, source)| Step::SetSource { cell, source }),
        (0..9_usize, 0..9_usize).prop_map(|(cell, to)| Step::Move { cell, to }),
        prop::collection::vec(0..9_usize, 0..3).prop_map(|cells| Step::Delete { cells }),
        (0..9_usize, text(), prop::option::of(0..9_u64)).prop_map(|(cell, text, count)| Step::SetOutputs {
            cell,
            text,
            count
        }),
        (0..9_usize, kind()).prop_map(|(cell, kind)| Step::SetType { cell, kind }),
        (0..9_usize, patch()).prop_map(|(cell, patch)| Step::MergeMetadata { cell, patch }),
    ]
}

/// How the file is laid out.
fn layout() -> impl Strategy<Value = fn(&Value) -> String> {
    prop::sample::select(vec![
        (|value| value.to_string()) as fn(&Value) -> String,
        |value| serde_json::to_string_pretty(value).unwrap() + "\n",
        |value| serde_json::to_string_pretty(value).unwrap().replace('\n', "\r\n"),
        |value| format!("\n {}\n\n", serde_json::to_string_pretty(value).unwrap().replace(": ", " : \t")),
    ])
}

/// A cell as the naive model has it: multiline strings joined.
fn normal(cell: &Value) -> Value {
    let joined = |value: &Value| match value.as_array() {
        Some(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect::<String>().into(),
        None => value.clone(),
    };
    let mut cell = cell.clone();
    cell["source"] = joined(&cell["source"]);
    for output in cell.get_mut("outputs").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(text) = output.get("text").map(joined) {
            output["text"] = text;
        }
        if let Some(text) = output.pointer("/data/text~1plain").map(joined) {
            output["data"]["text/plain"] = text;
        }
    }
    cell
}

fn outputs(text: &str, count: Option<u64>) -> (Vec<Output>, Vec<Value>) {
    let data = json!({ "text/plain": text, "application/json": [text] });
    let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
    let model = Output::Stream { name: "stdout".to_owned(), text: Text::from(text) };
    let result = Output::Result { execution_count: count, bundle };
    let values = vec![
        json!({ "output_type": "stream", "name": "stdout", "text": text }),
        json!({ "output_type": "execute_result", "execution_count": count, "data": data, "metadata": {} }),
    ];
    (vec![model, result], values)
}

/// RFC 7396 over values.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let members = value.as_object_mut().unwrap();
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), change);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn edits_agree_with_edits_of_a_plain_list(
        mut cells in prop::collection::vec(cell(), 0..5),
        minor in 4..7_u64,
        layout in layout(),
        steps in prop::collection::vec(step(), 0..8),
    ) {
        let has_ids = minor >= 5;
        if has_ids {
            for (index, cell) in cells.iter_mut().enumerate() {
                cell["id"] = format!("cell-{index}").into();
            }
        }
        let whole = json!({ "metadata": { "k": [1] }, "nbformat_minor": minor, "cells": cells, "nbformat": 4 });
        let text = layout(&whole);
        let mut notebook = parse(text.clone()).unwrap();
        prop_assert_eq!(notebook.to_bytes(), text.as_bytes());

        for (number, step) in steps.into_iter().enumerate() {
            let len = cells.len();
            let id = |cell: usize| notebook.cells()[cell].id().clone();
            let edit = match step {
                Step::Insert { at, kind, source } => {
                    let index = at % (len + 1);
                    let id = format!("new-{number}");
                    let mut cell = json!({ "cell_type": kind.name(), "metadata": {}, "source": source });
                    if kind == CellType::Code {
                        cell["outputs"] = json!([]);
                        cell["execution_count"] = Value::Null;
                    }
                    if has_ids {
                        cell["id"] = id.clone().into();
                    }
                    cells.insert(index, cell);
                    Edit::Insert { index, cell: NewCell { id: id.into(), ..NewCell::new(kind, source) } }
                }
                _ if len == 0 => continue,
                Step::SetSource { cell, source } => {
                    cells[cell % len]["source"] = source.clone().into();
                    Edit::SetSource { id: id(cell % len), source }
                }
                Step::Move { cell, to } => {
                    let moved = cells.remove(cell % len);
                    cells.insert(to % len, moved);
                    Edit::Move { id: id(cell % len), index: to % len }
                }
                Step::Delete { cells: chosen } => {
                    let mut chosen: Vec<_> = chosen.into_iter().map(|cell| cell % len).collect();
                    let ids = chosen.iter().map(|cell| id(*cell)).collect();
                    chosen.sort_unstable();
                    chosen.dedup();
                    for cell in chosen.into_iter().rev() {
                        cells.remove(cell);
                    }
                    Edit::Delete { ids }
                }
                Step::SetOutputs { cell, text, count } => {
                    let cell = cell % len;
                    if cells[cell]["cell_type"] != "code" {
                        continue;
                    }
                    let (outputs, values) = outputs(&text, count);
                    cells[cell]["outputs"] = values.into();
                    cells[cell]["execution_count"] = count.into();
                    Edit::SetOutputs { id: id(cell), outputs: outputs.into(), execution_count: count }
                }
                Step::SetType { cell, kind } => {
                    let (id, cell) = (id(cell % len), &mut cells[cell % len]);
                    if cell["cell_type"] != kind.name() {
                        let members = cell.as_object_mut().unwrap();
                        members.insert("cell_type".to_owned(), kind.name().into());
                        members.remove("outputs");
                        members.remove("execution_count");
                        if kind == CellType::Code {
                            members.insert("outputs".to_owned(), json!([]));
                            members.insert("execution_count".to_owned(), Value::Null);
                        }
                    }
                    Edit::SetType { id, cell_type: kind }
                }
                Step::MergeMetadata { cell, patch } => {
                    let (id, cell) = (id(cell % len), &mut cells[cell % len]);
                    merge(&mut cell["metadata"], &patch);
                    Edit::MergeMetadata { id, patch: Json::from_value(&patch) }
                }
            };
            notebook.apply(&edit).unwrap();
        }

        let written = String::from_utf8(notebook.to_bytes()).unwrap();
        let read: Vec<_> = cells_of(&written).into_iter().map(|cell| normal(&serde_json::from_str(cell).unwrap())).collect();
        prop_assert_eq!(read, cells.iter().map(normal).collect::<Vec<_>>());
        let seen: Vec<_> = notebook.cells().iter().map(|cell| (cell.cell_type().clone(), cell.source().into_owned())).collect();
        let expected = cells.iter().map(normal).map(|cell| {
            (CellType::from_name(cell["cell_type"].as_str().unwrap()), cell["source"].as_str().unwrap().to_owned())
        });
        prop_assert_eq!(seen, expected.collect::<Vec<_>>());
        prop_assert_eq!(parse(written.clone()).unwrap().to_bytes(), written.as_bytes());
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|[\\[\\]{}:,\"0-9a-z\\\\ ]{0,40}") {
        if let Ok(notebook) = parse(text.clone()) {
            prop_assert_eq!(notebook.to_bytes(), text.as_bytes());
        }
    }
}
