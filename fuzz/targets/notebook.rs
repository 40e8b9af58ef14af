//! Reads arbitrary bytes as a notebook, edits what was read, and reads what was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use notebook::{CellRef, CellType, Edit, Json, Kernelspec, NewCell, Notebook, Output, Query, Text};

fuzz_target!(|data: &[u8]| {
    // The edits come from the end, so that the corpus can be notebook files.
    let (text, edits) = data.split_at(data.len().saturating_sub(8));
    for text in [data, text] {
        let Ok(mut notebook) = Notebook::parse(text.to_vec().into()) else { continue };
        assert_eq!(notebook.to_bytes(), text, "an untouched notebook changed");
        look_at(&notebook);
        for (number, choice) in edits.iter().enumerate() {
            let _ = notebook.apply(&edit(&notebook, number, usize::from(*choice)));
        }
        let written = notebook.to_bytes();
        let Ok(again) = Notebook::parse(written.into()) else { panic!("what was written is no notebook") };
        assert_eq!(again.cells().len(), notebook.cells().len());
        look_at(&again);
    }
});

fn edit(notebook: &Notebook, number: usize, choice: usize) -> Edit {
    let cells = notebook.cells();
    let id = |cell: usize| cells.get(cell % cells.len().max(1)).map_or("".into(), |cell| cell.id().clone());
    let index = choice / 10;
    let source = ["", "x\r\n\u{2028}\"\u{1}", "\r"][choice % 3].to_owned();
    match choice % 10 {
        0 => Edit::SetSource { id: id(index), source },
        1 => Edit::Move { id: id(index), index: number },
        2 => Edit::Delete { ids: vec![id(index)] },
        3 | 4 => {
            let outputs = vec![Output::Stream { name: "stdout".to_owned(), text: Text::from(&*source) }];
            Edit::SetOutputs { id: id(index), outputs: outputs.into(), execution_count: Some(1) }
        }
        5 => Edit::set_kernelspec(&Kernelspec { name: source, display_name: None, language: None }),
        6 => Edit::SetType { id: id(index), cell_type: [CellType::Code, CellType::Raw][index % 2].clone() },
        7 => {
            let patch = [r#"{"tags":["a"],"x":{"y":null}}"#, r#"{"tags":null}"#, "1"][choice % 3];
            let patch = Json::parse(patch.as_bytes().to_vec().into()).unwrap_or(Json::empty_object());
            Edit::MergeMetadata { id: id(index), patch }
        }
        _ => {
            let kind =
                [CellType::Code, CellType::Markdown, CellType::Other("new".to_owned())][choice % 3].clone();
            Edit::Insert {
                index: index % (cells.len() + 1),
                cell: NewCell { id: format!("new-{number}").into(), ..NewCell::new(kind, source) },
            }
        }
    }
}

/// Calls everything that reads.
fn look_at(notebook: &Notebook) {
    for cell in notebook.cells() {
        assert_eq!(cell.revision().len(), 8);
        assert_eq!(cell.outputs().len(), cell.output_count());
        assert!(notebook.resolve(&CellRef::Id(cell.id().to_string())).is_ok());
        let _ = (cell.attachments(), cell.first_line(), cell.line_count());
    }
    let query =
        Query { text: "e".to_owned(), ignore_case: true, in_sources: true, in_outputs: true, limit: 5 };
    assert!(notebook::search(notebook, &query).len() <= 5);
    let _ = (notebook::outline(notebook), notebook.kernelspec(), notebook.language());
    let mut carried = notebook.clone();
    carried.carry_ids(notebook);
    assert_eq!(carried.is_modified(), notebook.is_modified());
}
