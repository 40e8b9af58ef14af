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
fn ids_are_carried_from_one_reading_to_the_next() {
    let notebook = |sources: &[&str]| {
        let cell = |source| serde_json::json!({ "cell_type": "raw", "metadata": {}, "source": source });
        let cells: Vec<_> = sources.iter().map(cell).collect();
        let text = serde_json::json!({ "nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells });
        parse(text.to_string()).unwrap()
    };
    let ids = |notebook: &Notebook| notebook.cells().iter().map(|cell| cell.id().clone()).collect::<Vec<_>>();
    let old = notebook(&["a", "b", "c", "d", "c"]);
    let before = ids(&old);
    let carried = |sources: &[&str]| {
        let mut new = notebook(sources);
        new.carry_ids(&old);
        assert!(!new.is_modified());
        let now = ids(&new);
        let unique: BTreeSet<_> = now.iter().collect();
        assert_eq!(unique.len(), now.len());
        now
    };
    assert_eq!(carried(&["a", "b", "c", "d", "c"]), before);
    let edited = carried(&["a", "changed", "c", "d", "c"]);
    assert_eq!(edited, before);
    let inserted = carried(&["new", "a", "b", "c", "d", "c"]);
    assert_eq!(inserted[1..], before);
    let mut retyped = notebook(&["a", "b", "c", "d", "c"]);
    let text = String::from_utf8(retyped.to_bytes()).unwrap().replacen("raw", "markdown", 1);
    retyped = parse(text).unwrap();
    retyped.carry_ids(&old);
    assert_ne!(ids(&retyped)[0], before[0]);
    assert_eq!(ids(&retyped)[1..], before[1..]);
    let deleted = carried(&["a", "c", "c"]);
    assert_eq!(deleted, [&*before[0], &*before[2], &*before[4]]);
    // What was edited keeps its id when it is edited again.
    let mut second = notebook(&["a", "changed", "c", "d", "c"]);
    second.carry_ids(&old);
    let mut third = notebook(&["a", "changed twice", "c", "d", "c"]);
    third.carry_ids(&second);
    assert_eq!(ids(&third), before);
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
fn ids_in_the_file_win_over_carried_ids() {
    let old = of_corpus("missing-ids-4.5");
    let made_up = old.cells()[0].id();
    let text = serde_json::json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        { "cell_type": "markdown", "metadata": {}, "source": old.cells()[0].source() },
        { "cell_type": "raw", "id": made_up.as_str(), "metadata": {}, "source": "" },
    ] });
    let mut new = parse(text.to_string()).unwrap();
    new.carry_ids(&old);
    assert_eq!(new.cells()[1].id(), made_up);
    assert_ne!(new.cells()[0].id(), made_up);
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
