//! What the notebook and the kernel's memory say about an error: which cell defines a name that was not found, and which column is like
//! one that was not found.

use std::collections::BTreeSet;
use std::time::Duration;

use names::{Names, definers};
use notebook::Notebook;
use place::{Executor, Kernel, RunState};
use serde::Deserialize;
use serde_json::json;
use staleness::hash;
use tokio::time::timeout;
use unicode_normalization::UnicodeNormalization as _;

use crate::cell_tags::CellTags;
use crate::open_notebook::OpenNotebook;
use crate::run::Run;
use crate::run_history::RunHistory;

/// The names of more source than this are not looked for, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;
/// How many data frames are asked for their columns, and how long that may take in all.
const MAX_FRAMES: usize = 6;
const MAX_WAIT: Duration = Duration::from_millis(400);

/// What is known about the error of a run that is over, if anything.
pub(crate) async fn hint(
    history: &RunHistory,
    notebook: &OpenNotebook,
    run: &Run,
    kernel: &dyn Kernel,
    executor: &dyn Executor,
) -> Option<String> {
    let RunState::Error { name, value } = run.state() else { return None };
    if !kernel.description().language.eq_ignore_ascii_case("python") {
        return None;
    }
    match &*name {
        "NameError" => {
            // Code can raise it with any text.
            let missing =
                value.strip_prefix("name ")?.split('\'').nth(1).filter(|name| is_identifier(name))?;
            let now = notebook.document().snapshot().await.ok()?;
            let facts = Facts {
                history,
                notebook,
                kernel,
                own: run.cell().and_then(|cell| now.cell(&cell.id)).map(|(index, _)| index),
            };
            facts.definer(&now, missing)
        }
        "KeyError" | "ColumnNotFoundError" | "UndefinedVariableError" => {
            let missing = missing_column(&value)?;
            timeout(MAX_WAIT, near_column(executor, run.source(), &missing)).await.ok()?
        }
        _ => None,
    }
}

struct Facts<'a> {
    history: &'a RunHistory,
    notebook: &'a OpenNotebook,
    kernel: &'a dyn Kernel,
    /// The index of the cell that failed; `None` for code of no cell.
    own: Option<usize>,
}

impl Facts<'_> {
    /// Which cell defines a name, and why that does not help.
    fn definer(&self, now: &Notebook, name: &str) -> Option<String> {
        let mut left = MAX_SOURCE;
        let mut cells = Vec::new();
        for (index, cell) in now.cells().iter().enumerate().filter(|(_, cell)| cell.is_code()) {
            let source = cell.source();
            left = left.checked_sub(source.len())?;
            cells.push((index, Names::of_cell(&source)));
        }
        let known: Vec<(usize, &Names)> = cells.iter().map(|(index, names)| (*index, names)).collect();
        let all: Vec<usize> =
            definers(&known, name).into_iter().filter(|index| Some(*index) != self.own).collect();
        let own = self.own.unwrap_or(usize::MAX);
        if let Some(above) = all.iter().rfind(|index| **index < own) {
            return Some(format!("Cell {above} defines {name}{}.", self.why_not(now, *above)));
        }
        if let Some(below) = all.first() {
            return Some(format!("Only cell {below} defines {name}, and that cell comes after this one."));
        }
        // A cell that cannot be read may define it.
        let is_certain = cells.iter().all(|(_, names)| names.effects.unknown.is_none());
        is_certain.then(|| {
            format!(
                "No {}cell of the notebook defines {name}.",
                if self.own.is_some() { "other " } else { "" }
            )
        })
    }

    /// Why a definition is not in the kernel.
    fn why_not(&self, now: &Notebook, index: usize) -> &'static str {
        let (cell, instance) = (&now.cells()[index], self.history.instance(self.kernel));
        let (runs, _) = self.history.runs(self.notebook, Some(self.kernel));
        let last = runs.iter().rfind(|run| {
            run.cell.as_ref() == Some(cell.id()) && !run.is_superseded && Some(run.instance) == instance
        });
        match last {
            None if CellTags::of(cell).is_skipped => ", and its tag skip-execution skips it",
            None => ", and has not run in this kernel",
            Some(run) if run.source != hash(&cell.source()) => ", and was edited since it ran",
            Some(run) if run.has_failed => ", and failed when it ran",
            Some(_) => "",
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|character| character == '_' || character.is_alphanumeric())
}

/// The column in the message of a `KeyError`: `'a'`, the first of `"['a', 'b'] not in index"`, and `a` of `Column not found: a`. pandas
/// says `name 'a' is not defined` of a query.
fn missing_column(value: &str) -> Option<String> {
    let value = value.lines().next()?.trim();
    let quoted = |text: &str| {
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let rest = &text[1..];
        Some(rest[..rest.find(quote)?].to_owned())
    };
    let inner = value.trim_matches(['"', '\'']);
    if let Some(column) = inner.strip_prefix("Column not found: ") {
        return Some(column.to_owned());
    }
    let beginnings = ["None of [Index([", "None of [", "name ", "["];
    let list = beginnings.into_iter().find_map(|beginning| value.trim_matches('"').strip_prefix(beginning));
    let found = match list {
        Some(list) => quoted(list)?,
        None => quoted(value)
            .or_else(|| Some(value.split(['"', '\'']).nth(1)?.to_owned()))
            .or_else(|| Some(value.to_owned()))?,
    };
    (!found.is_empty() && found.len() < 200).then_some(found)
}

/// Says which column of a data frame that the code uses is like the missing one, if exactly one is.
async fn near_column(executor: &dyn Executor, source: &str, missing: &str) -> Option<String> {
    let effects = Names::of_cell(source).effects;
    let used: BTreeSet<&String> =
        effects.reads.iter().chain(&effects.uses).chain(&effects.changes).chain(&effects.defines).collect();
    let mut found = Vec::new();
    let mut frames = 0;
    for name in used {
        let question =
            json!({ "inspect": { "name": name, "path": "", "rows": 0, "stats": false, "is_busy": false } });
        let Ok(answer) = executor.ask_memory(&question, MAX_WAIT).await else { continue };
        let Ok(frame) = answer.decode::<Frame>() else { continue };
        if !frame.kind.ends_with("DataFrame") {
            continue;
        }
        let columns = frame.columns.iter().filter_map(|row| row.first()?.as_str());
        found.extend(
            columns.filter(|column| is_like(column, missing)).map(|column| (name, column.to_owned())),
        );
        frames += 1;
        if frames == MAX_FRAMES {
            break;
        }
    }
    match &found[..] {
        [(frame, column)] => {
            Some(format!("{frame} has no column {missing:?}; the nearest is {column:?}{}.", spaces(column)))
        }
        _ => None,
    }
}

/// What the memory's answer says of a data frame.
#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    columns: Vec<Vec<serde_json::Value>>,
}

/// Whether two different names are the same but for spaces, case and the form of their letters.
fn is_like(column: &str, missing: &str) -> bool {
    let plain = |text: &str| {
        let text: String = text.nfkc().collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").to_lowercase()
    };
    column != missing && plain(column) == plain(missing)
}

fn spaces(column: &str) -> &'static str {
    match (column.starts_with(char::is_whitespace), column.ends_with(char::is_whitespace)) {
        (true, true) => ", with spaces at both ends",
        (true, false) => ", with a space at its start",
        (false, true) => ", with a space at its end",
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_column_is_read_from_the_message() {
        for (value, column) in [
            ("'Order Date'", Some("Order Date")),
            ("\"it's\"", Some("it's")),
            ("\"['a', 'b'] not in index\"", Some("a")),
            ("\"None of [Index(['x'], dtype='object')] are in the [columns]\"", Some("x")),
            ("\"None of ['x y'] are in the columns\"", Some("x y")),
            ("'Column not found: x y'", Some("x y")),
            ("name 'x' is not defined", Some("x")),
            ("", None),
        ] {
            assert_eq!(missing_column(value).as_deref(), column, "{value}");
        }
    }

    #[test]
    fn only_identifiers_are_names() {
        assert!(["x", "_a1", "größe"].into_iter().all(is_identifier));
        assert!(!["x\n[NOTICE] n", "a b", "x.y"].into_iter().any(is_identifier));
    }

    #[test]
    fn columns_are_alike_that_differ_in_spaces_and_case() {
        for column in ["Order Date ", " Order Date", "order date", "Order  Date", "Order\u{a0}Date"] {
            assert!(is_like(column, "Order Date"), "{column:?}");
        }
        for column in ["Order Date", "OrderDate", "Order Dates"] {
            assert!(!is_like(column, "Order Date"), "{column:?}");
        }
    }
}
