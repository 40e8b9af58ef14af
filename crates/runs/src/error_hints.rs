//! Hints about an error from the notebook and the kernel's memory: which cell defines a name that was not found, and which column, label or
//! file is like one that was not found.

mod missing;

use std::collections::BTreeSet;
use std::time::Duration;

use names::{Names, definers};
use notebook::{Notebook, one_line};
use place::{Executor, Kernel, RunState};
use serde::Deserialize;
use serde_json::json;
use staleness::hash;
use tokio::time::timeout;

use crate::cell_tags::CellTags;
use crate::open_notebook::OpenNotebook;
use crate::run::Run;
use crate::run_history::RunHistory;
use missing::{missing_names, missing_path};

/// The names of more source than this are not looked for, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;
/// How long the kernel may look for names that are like missing ones, and how many are said.
const MAX_WAIT: Duration = Duration::from_millis(400);
const MAX_NEAR: usize = 3;

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
    if let Some(path) = missing_path(&name, &value) {
        return timeout(MAX_WAIT, near_path(executor, &path)).await.ok()?;
    }
    if *name != *"NameError" {
        let missing = missing_names(&name, &value);
        let found = (!missing.is_empty()).then(|| near_names(executor, run.source(), &missing))?;
        return timeout(MAX_WAIT, found).await.ok()?;
    }
    // Code can raise it with any text.
    let missing = value.strip_prefix("name ")?.split('\'').nth(1).filter(|name| is_identifier(name))?;
    let now = notebook.document().snapshot().await.ok()?;
    let own = run.cell().and_then(|cell| now.cell(&cell.id)).map(|(index, _)| index);
    Facts { history, notebook, kernel, own }.definer(&now, missing)
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

/// Says which names of data frames are like those that were not found.
async fn near_names(executor: &dyn Executor, source: &str, missing: &[String]) -> Option<String> {
    let effects = Names::of_cell(source).effects;
    let used: BTreeSet<&String> = effects.reads.iter().chain(&effects.uses).chain(&effects.defines).collect();
    let question = json!({ "near": { "names": used, "missing": missing } });
    let answer = executor.ask_memory(&question, MAX_WAIT).await.ok()?.decode::<NearNames>().ok()?;
    let lines: Vec<String> = answer.near.iter().take(MAX_NEAR).map(NearName::sentence).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// Says which path is like one that leads to nothing, as the kernel sees its files.
async fn near_path(executor: &dyn Executor, path: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct NearPath {
        nearest: Option<String>,
        folder: String,
    }
    let question = json!({ "near_path": { "path": path } });
    let answer = executor.ask_memory(&question, MAX_WAIT).await.ok()?;
    let NearPath { nearest, folder } = answer.decode().ok()?;
    let nearest = nearest.map(|near| format!("; the nearest is '{}'", one_line(&near))).unwrap_or_default();
    let (path, folder) = (one_line(path), one_line(&folder));
    Some(format!("There is no file '{path}'{nearest}. The working folder is {folder}."))
}

/// What the kernel's memory answers; `memory/handler/near.py` of the crate `kernel` finds it.
#[derive(Deserialize)]
struct NearNames {
    near: Vec<NearName>,
}

/// A name, with the missing one that is like it, as Python writes them.
#[derive(Deserialize)]
struct NearName {
    /// The variable, if one has it.
    frame: String,
    /// `column` or `label`.
    kind: String,
    missing: String,
    nearest: String,
    /// The ends at which it has spaces.
    spaces: Vec<String>,
}

impl NearName {
    fn sentence(&self) -> String {
        let Self { frame, kind, missing, nearest, spaces } = self;
        let spaces = match &spaces[..] {
            [] => String::new(),
            [end] => format!(", with a space at its {end}"),
            _ => ", with spaces at both ends".to_owned(),
        };
        let subject = if frame.is_empty() { "There is" } else { &format!("{frame} has") };
        format!("{subject} no {kind} {missing}; the nearest is {nearest}{spaces}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identifiers_are_names() {
        assert!(["x", "_a1", "größe"].into_iter().all(is_identifier));
        assert!(!["x\n[NOTICE] n", "a b", "x.y"].into_iter().any(is_identifier));
    }

    #[test]
    fn a_near_name_is_said_with_its_spaces() {
        let sentence = |frame: &str, kind: &str, spaces: &[&str]| {
            let spaces = spaces.iter().map(|end| (*end).to_owned()).collect();
            let [frame, kind, missing, nearest] = [frame, kind, "'a'", "'a '"].map(str::to_owned);
            NearName { frame, kind, missing, nearest, spaces }.sentence()
        };
        assert_eq!(
            sentence("df", "column", &["end"]),
            "df has no column 'a'; the nearest is 'a ', with a space at its end."
        );
        assert_eq!(
            sentence("", "label", &["start", "end"]),
            "There is no label 'a'; the nearest is 'a ', with spaces at both ends."
        );
        assert_eq!(sentence("df", "column", &[]), "df has no column 'a'; the nearest is 'a '.");
    }
}
