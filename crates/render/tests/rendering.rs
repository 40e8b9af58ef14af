//! What a reply makes of outputs of real kernels, which `outputs/make.py` collected.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::Path;

use bytes::Bytes;
use notebook::{Json, MimeBundle, Notebook, Output};
use proptest::prelude::*;
use render::{Budget, Part, Priority, Reply, full_text, merged, page};
use serde_json::Value;

/// An output as nbformat 4 writes it.
fn output(value: &Value) -> Output {
    let json = |name: &str| Json::from_value(&value[name]);
    let text = |name: &str| json(name).multiline_text().unwrap_or_default().into_owned();
    let bundle = || MimeBundle { data: json("data"), metadata: json("metadata") };
    match value["output_type"].as_str().unwrap() {
        "stream" => Output::Stream { name: text("name"), text: text("text").as_str().into() },
        "display_data" => Output::Display(bundle()),
        "execute_result" => {
            Output::Result { execution_count: value["execution_count"].as_u64(), bundle: bundle() }
        }
        "error" => Output::Error {
            name: text("ename"),
            value: text("evalue"),
            traceback: value["traceback"]
                .as_array()
                .unwrap()
                .iter()
                .map(|line| line.as_str().unwrap().to_owned())
                .collect(),
        },
        _ => Output::Other(Json::from_value(value)),
    }
}

fn outputs(path: &Path) -> Vec<Output> {
    let values: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let outputs: Vec<Output> = values.iter().map(output).collect();
    merged(&outputs).into_owned()
}

fn more(index: usize, offset: usize) -> String {
    format!("get_run(run_id=\"r1\", output={index}, offset={offset})")
}

/// The reply as a model sees it; images as a line.
fn seen(outputs: &[Output], budget: Budget) -> String {
    let mut reply = Reply::new(budget);
    reply.outputs(outputs, more);
    let mut seen = String::new();
    let mut characters = 0;
    for part in reply.close() {
        match part {
            Part::Text(text) => {
                characters += text.chars().count();
                seen.push_str(&text);
                seen.push('\n');
            }
            Part::Image { mime, data } => {
                let image = image::load_from_memory(&data).unwrap();
                seen.push_str(&format!("<{mime} {}×{}>\n", image.width(), image.height()));
            }
        }
    }
    assert!(characters <= budget.characters);
    seen
}

/// Each file of outputs with its name.
fn files() -> Vec<(String, Vec<Output>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), outputs(&path)))
        .collect();
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    files
}

#[test]
fn outputs_of_real_kernels_match_the_snapshots() {
    let files = files();
    assert!(files.len() > 70);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, outputs) in files {
            insta::assert_snapshot!(name, seen(&outputs, Budget::new(4000, 4).asked_for()));
        }
    });
}

#[test]
fn every_output_fits_any_budget_and_has_pages() {
    for (name, outputs) in files() {
        for characters in [300, 333, 1000, 20_000] {
            seen(&outputs, Budget::new(characters.max(Budget::MIN_CHARACTERS), 0));
        }
        for output in &outputs {
            let text = full_text(output);
            assert!(!text.contains(['\u{1b}', '\r']), "{name}");
            let (mut all, mut offset) = (String::new(), Some(0));
            while let Some(at) = offset {
                let (part, next) = page(&text, at, 5000);
                all.push_str(part);
                offset = next;
            }
            assert_eq!(all, text, "{name}");
        }
    }
}

#[test]
fn lines_and_whole_strings_render_the_same() {
    // A kernel sends one string where a file holds a list of lines.
    let lines = Json::parse(Bytes::from_static(b"{\"text/html\": [\"<b>a\\n\", \"</b>b\"]}")).unwrap();
    let whole = Json::parse(Bytes::from_static(b"{\"text/html\": \"<b>a\\n</b>b\"}")).unwrap();
    let texts = [lines, whole]
        .map(|data| full_text(&Output::Display(MimeBundle { data, metadata: Json::empty_object() })));
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], "a b");
}

/// The notebooks of `notebook`'s tests that can be read.
fn corpus() -> Vec<Notebook> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebook/tests/corpus");
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.filter_map(|bytes| Notebook::parse(Bytes::from(bytes)).ok()).collect()
}

/// All cells of a notebook in one reply.
fn whole_notebook(notebook: &Notebook, budget: Budget, with_sections: bool) -> Vec<Part> {
    let mut reply = Reply::new(budget);
    reply.note_last("[the last line]");
    reply.sections_left_out(|cell| format!("read_notebook(start_index={cell})"));
    for (index, cell) in notebook.cells().iter().enumerate() {
        if with_sections {
            reply.section(index, if index % 5 == 0 { Priority::First } else { Priority::IfRoom });
        }
        reply.note(&format!("=====Cell {index}====="));
        reply.source(&cell.source(), move |offset| format!("read_cell({index}, offset={offset})"));
        reply.outputs(&cell.outputs(), more);
    }
    reply.close()
}

#[test]
fn no_reply_about_a_notebook_is_longer_than_its_budget_and_its_last_line_is_whole() {
    let notebooks = corpus();
    assert!(notebooks.len() > 60);
    proptest!(|(characters in Budget::MIN_CHARACTERS..3000, with_sections in any::<bool>())| {
        for notebook in &notebooks {
            let parts = whole_notebook(notebook, Budget::new(characters, 2), with_sections);
            let size = |part: &Part| match part {
                Part::Text(text) => text.chars().count(),
                Part::Image { .. } => 0,
            };
            let length: usize = parts.iter().map(size).sum();
            prop_assert!(length <= characters, "{length} > {characters}");
            let Some(Part::Text(text)) = parts.last() else { panic!("no text") };
            let last = text.lines().last().unwrap();
            let rest = last.strip_prefix("[the last line]").unwrap();
            let is_whole = rest.is_empty()
                || rest == " · part of the text above was left out"
                || rest.starts_with(" · left out above: ") && rest.ends_with(") shows it");
            prop_assert!(is_whole, "{last}");
        }
    });
}
