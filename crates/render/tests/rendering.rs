//! What a reply makes of outputs of real kernels, which `outputs/make.py` collected.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::Path;

use bytes::Bytes;
use notebook::{Json, MimeBundle, Output};
use render::{Budget, Part, Reply, full_text, merged, page};
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
    reply.outputs(outputs, &more);
    let mut seen = String::new();
    let mut characters = 0;
    for part in reply.close("") {
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
            insta::assert_snapshot!(name, seen(&outputs, Budget { characters: 4000, images: 4 }));
        }
    });
}

#[test]
fn every_output_fits_any_budget_and_has_pages() {
    for (name, outputs) in files() {
        for characters in [0, 10, 100, 333, 1000, 20_000] {
            seen(&outputs, Budget { characters, images: 0 });
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
