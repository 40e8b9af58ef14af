//! Versions of nbformat, ids, kernels, and texts that are no notebooks.

use std::collections::BTreeSet;

use notebook::{CellType, Edit, NewCell, Notebook};

use crate::files::{corpus, of_corpus, parse};

fn modify(notebook: &mut Notebook) {
    notebook.apply(&Edit::Insert { index: 0, cell: NewCell::new(CellType::Markdown, "touched") }).unwrap();
}

#[test]
fn only_nbformat_3_changes_its_version_when_modified() {
    for (name, read, touched) in [
        ("clean-4.0", (4, 0), (4, 0)),
        ("clean-4.5", (4, 5), (4, 5)),
        ("minor-6", (4, 6), (4, 6)),
        ("minor-missing", (4, 4), (4, 4)),
        ("nbformat-missing", (4, 5), (4, 5)),
        ("nbformat-float", (4, 5), (4, 5)),
        ("nbformat-3-simple", (3, 0), (4, 5)),
    ] {
        let mut notebook = of_corpus(name);
        assert_eq!(notebook.version(), read, "{name}");
        modify(&mut notebook);
        assert_eq!(notebook.version(), touched, "{name}");
        assert_eq!(parse(notebook.to_bytes()).unwrap().version(), touched, "{name}");
    }
}

#[test]
fn nbformat_3_is_upgraded_like_jupyter() {
    for name in ["simple", "outputs", "unknown-keys", "several-worksheets", "bare"] {
        let mut notebook = of_corpus(&format!("nbformat-3-{name}"));
        let spec = notebook::Kernelspec { name: "k".to_owned(), display_name: None, language: None };
        notebook.apply(&Edit::set_kernelspec(&spec)).unwrap();
        let text = String::from_utf8(notebook.to_bytes()).unwrap();
        insta::assert_snapshot!(format!("nbformat-3-{name}"), text);
    }
}

#[test]
fn assigned_ids_are_unique_and_stable() {
    for file in corpus() {
        let (first, second) = (file.notebook(), file.notebook());
        let ids: BTreeSet<_> = first.cells().iter().map(notebook::Cell::id).collect();
        assert_eq!(ids.len(), first.cells().len(), "{}", file.name);
        assert!(first.cells().iter().zip(second.cells()).all(|(a, b)| a.id() == b.id()), "{}", file.name);
    }
}

#[test]
fn assigned_ids_are_written_if_the_format_has_ids() {
    for (name, has_ids) in
        [("missing-ids-4.5", true), ("duplicate-ids", true), ("ids-invalid", true), ("clean-4.4", false)]
    {
        let mut notebook = of_corpus(name);
        modify(&mut notebook);
        let text = String::from_utf8(notebook.to_bytes()).unwrap();
        for cell in notebook.cells() {
            assert_eq!(text.contains(&format!("\"id\": \"{}\"", cell.id())), has_ids, "{name}");
        }
    }
}

#[test]
fn invalid_ids_are_replaced() {
    let ids: Vec<_> = of_corpus("ids-invalid").cells().iter().map(|cell| cell.id().clone()).collect();
    assert_eq!(ids[5], "fine");
    assert!(
        ids[..5].iter().all(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())),
        "{ids:?}"
    );
}

#[test]
fn ids_determine_a_missing_minor_version() {
    let version = |cell: &str| parse(format!(r#"{{"nbformat":4,"cells":[{{{cell}}}]}}"#)).unwrap().version();
    assert_eq!(version(r#""id":"a""#), (4, 5));
    assert_eq!(version(""), (4, 4));
}

#[test]
fn kernelspec_and_language_are_read() {
    let notebook = of_corpus("clean-4.5");
    let spec = notebook.kernelspec().unwrap();
    assert_eq!((&*spec.name, spec.language.as_deref()), ("python3", Some("python")));
    assert_eq!(of_corpus("kernelspec-without-display-name").kernelspec().unwrap().display_name, None);
    assert_eq!(of_corpus("kernelspec-without-name").kernelspec(), None);
    assert_eq!(of_corpus("kernelspec-without-name").language().as_deref(), Some("python"));
    assert_eq!(of_corpus("kernelspec-empty").kernelspec(), None);
    assert_eq!(of_corpus("kernelspec-null").language().as_deref(), Some("R"));
    assert_eq!(of_corpus("empty-notebook").language(), None);
}

#[test]
fn invalid_notebooks_are_refused_with_position_and_reason() {
    let nested = format!("{{\"cells\": {}", "[".repeat(100_000));
    let refused: Vec<String> = [
        "",
        " \n",
        "{",
        "not json",
        "{\n \"cells\": [\n  {\"a\": 1,}\n ]\n}",
        "{\"nbformat\": 4}}",
        "{\n \"metadata\": {\"x\": NaN},\n \"nbformat\": 4}",
        "{\n \"metadata\": [1,\n-Infinity]}",
        "{\"a\": \"tab\tinside\"}",
        "[]",
        "null",
        "{}",
        "{\"nbformat\": 2, \"worksheets\": []}",
        "{\"nbformat\": 5, \"cells\": []}",
        "{\"nbformat\": \"4\", \"cells\": []}",
        "{\"nbformat\": 4, \"cells\": {}}",
        "{\"nbformat\": 4, \"cells\": [{}, 1]}",
        "{\"nbformat\": 3, \"worksheets\": [{\"cells\": [[]]}]}",
        "<<<<<<< HEAD\n{}",
        "{\n<<<<<<< HEAD\n}",
        &nested,
    ]
    .into_iter()
    .map(|text| {
        format!("{:.60}\n    {}", text.escape_debug().to_string(), parse(text.to_owned()).unwrap_err())
    })
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
    let error = parse(&b"{\n \"a\": \"\xff\"}"[..]).unwrap_err();
    assert_eq!(error.to_string(), "not JSON at line 2, column 8: the text is not UTF-8");
}

#[test]
fn another_encoding_is_named() {
    let text = "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [[&b"\xff\xfe"[..], &little].concat(), [&b"\xfe\xff"[..], &big].concat(), little, big] {
        let error = Notebook::parse(bytes.into()).unwrap_err();
        assert_eq!(error.to_string(), "encoded in UTF-16, but notebooks are UTF-8; save it as UTF-8");
    }
    assert!(Notebook::parse(text.into()).is_ok());
}
