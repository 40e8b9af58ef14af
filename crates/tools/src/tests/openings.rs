//! Outputs that begin like a message of the program are marked: the list of such beginnings is derived from the messages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use render::marked;

use super::messages::{filled, literals};
use crate::list::TOOLS;

/// Crates whose messages are in no reply: they are for people, for other programs or for logs.
const OTHERS: [&str; 19] = [
    "cli",
    "clients",
    "demo",
    "doctor",
    "ydoc",
    "html",
    "keeper",
    "machine",
    "names",
    "page",
    "python",
    "rest",
    "staleness",
    "syntax",
    "telemetry",
    "terminal",
    "testkit",
    "transports",
    "windows",
];
/// Set it to write the list.
const UPDATE: &str = "UPDATE_OPENINGS";
/// Stands for what is filled in at run time.
const PLACEHOLDER: char = '\u{1}';
/// So many words of a message, beside those that are filled in, make its beginning.
const FIXED: usize = 4;
/// Words of this program.
const TERMS: [&str; 19] = [
    "cell",
    "cells",
    "cell(s)",
    "cell(s",
    "checkpoint",
    "colab",
    "headings",
    "history",
    "kernel",
    "kernels",
    "nearest",
    "notebook",
    "notebook's",
    "notebooks",
    "outputs",
    "person",
    "person's",
    "run",
    "runs",
];

#[test]
fn the_lists_of_beginnings_and_tools_are_those_of_the_program() {
    check_list("openings.txt", &openings());
    // Other words are names in any code.
    let names = TOOLS.iter().map(|tool| tool.name.to_owned()).filter(|name| name.contains('_'));
    check_list("tools.txt", &names.collect());
}

#[expect(clippy::disallowed_methods, reason = "whoever changes a message or adds a tool sets it")]
fn check_list(file: &str, lines: &BTreeSet<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../render/src/marks").join(file);
    let derived: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &derived).unwrap();
    }
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        listed == derived,
        "messages or tools have changed: run `{UPDATE}=1 cargo nextest run -p tools beginnings`, and look at the change"
    );
}

#[test]
fn an_output_that_begins_like_a_message_is_marked() {
    for line in [
        "The cell was changed after this run was requested; the earlier source ran.",
        "df has no column 'Region'; the nearest is ' Region', with a space at its start.",
        "No other cell of the notebook defines noindex.",
        "1 cell(s) edited successfully! Cells 0 in a.ipynb; saved to disk",
        "Cell inserted successfully at index 0 (code)! id d6b2c840 in Analysis.ipynb; saved to disk",
        "Cell 0 overwritten successfully! cell 0 (id c0000000) in a.ipynb, revision c794794b; saved to disk",
        "Does not rerun from a fresh kernel: cell #0 fails",
        "Variables in the kernel did not change. Cells now stale: 1.",
        "Interrupted run r2: it has ended.",
        "The kernel of a.ipynb was restarted successfully and answers.",
        "The person declined execute_cell. Nothing was done.",
        "cell #10 (id d6b2c840), - saved, + fresh:",
        "Notebook a.ipynb has 2 cells.",
        "deleted cell source:",
        "There were no other outputs to apply.",
        "108 more cells: read_notebook(start_index=12) shows them.",
        "Would run, in a.ipynb (nothing was run):",
    ] {
        assert_eq!(marked(line), format!("│ {line}"));
    }
}

/// Beginnings that are too general only cost a mark, but readers would wonder.
#[test]
fn ordinary_outputs_are_not_marked() {
    for line in include_str!("ordinary_outputs.txt").lines() {
        assert_eq!(marked(line), line);
    }
}

fn openings() -> BTreeSet<String> {
    let is_in_reply = |file: &PathBuf| {
        let crates = file.components().filter_map(|part| part.as_os_str().to_str()).collect::<Vec<_>>();
        let owner = crates.iter().rposition(|part| *part == "src").and_then(|at| crates.get(at - 1));
        owner.is_some_and(|owner| !OTHERS.contains(owner))
    };
    let messages = literals().into_iter().filter(|(file, _)| is_in_reply(file));
    messages
        .flat_map(|(_, literal)| {
            let text = filled(&literal, PLACEHOLDER);
            text.split('\n').filter_map(opening).collect::<Vec<_>>()
        })
        .collect()
}

/// How a line begins: words in lower case, `*` for those that are filled in, and `$` for the end; `None` if that is too general, or if it
/// is no beginning.
fn opening(line: &str) -> Option<String> {
    let is_start = line.starts_with(|first: char| first.is_ascii_uppercase() || first == PLACEHOLDER);
    if !is_start {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let word = if word.contains(PLACEHOLDER) { "*".to_owned() } else { word.to_ascii_lowercase() };
        if word != "*" || words.last().is_none_or(|last| last != "*") {
            words.push(word);
        }
    }
    let fixed = |words: &[String]| words.iter().filter(|word| *word != "*").count();
    // Where anything may stand between them, other programs use the same few words.
    let is_ours = |words: &[String]| {
        !words.contains(&"*".to_owned())
            || words.iter().any(|word| TERMS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric())))
    };
    let end = (1..=words.len()).find(|end| fixed(&words[..*end]) >= FIXED && is_ours(&words[..*end]));
    let ends_in =
        |marks: &[char]| words.iter().rfind(|word| *word != "*").is_some_and(|word| word.ends_with(marks));
    let ends_open = words.last()? == "*";
    match end {
        Some(end) => words.truncate(end),
        // A short one is a line of its own, or has a colon before what is filled in.
        None if fixed(&words) < 2 || !is_ours(&words) => return None,
        None if ends_open
            && words.iter().filter(|word| *word == "*").count() == 1
            && (ends_in(&[':']) || fixed(&words) == FIXED - 1) =>
        {
            words.pop();
        }
        None if !ends_open && ends_in(&['.', ':', '!']) => words.push("$".to_owned()),
        None => return None,
    }
    Some(words.join(" "))
}
