//! Which cells run again, and what is expected of them.

use std::collections::{BTreeMap, BTreeSet};

use names::{Names, is_configuration};
use notebook::{Cell, CellId, Notebook, Output};
use runs::{RAISES, SKIP};
use syntax::is_blank;

/// A code cell that runs again.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) index: usize,
    pub(crate) id: CellId,
    pub(crate) source: String,
    pub(crate) saved: Vec<Output>,
    pub(crate) expectation: Expectation,
    /// An error does not end the run.
    pub(crate) may_fail: bool,
    /// It may show text in a pager, which other runners drop.
    pub(crate) asks_for_help: bool,
    /// Those before it, as positions among the checked cells, whose variables it uses.
    pub(crate) inputs: BTreeSet<usize>,
}

#[cfg(test)]
impl Checked {
    /// A cell that says that.
    pub(crate) fn with_saved(saved: Vec<Output>) -> Self {
        Self {
            index: 0,
            id: CellId::random(),
            source: String::new(),
            saved,
            expectation: Expectation::WithSaved,
            may_fail: false,
            asks_for_help: false,
            inputs: BTreeSet::new(),
        }
    }
}

/// What becomes of a cell's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    WithSaved,
    /// The notebook has none: the cell was not run, or they were cleared.
    NoneSaved,
    /// The notebook asks for it, by a tag or comment of nbval.
    Ignored,
    /// Nobody asked for this cell: others need it.
    NotWanted,
}

/// The code cells to run, in order, and how many the notebook wants to be skipped. `wanted`: these, with all above them.
///
/// Tags and comments are those of nbclient and nbval
/// (<https://nbval.readthedocs.io/en/latest/#tagging-cells>).
pub(crate) fn checked(notebook: &Notebook, wanted: Option<&BTreeSet<usize>>) -> (Vec<Checked>, usize) {
    let last = wanted.and_then(|wanted| wanted.last().copied()).unwrap_or(usize::MAX);
    let is_python = notebook.language().is_none_or(|language| language.eq_ignore_ascii_case("python"));
    let (mut cells, mut skipped) = (Vec::new(), 0);
    for (index, cell) in notebook.cells().iter().enumerate().take(last.saturating_add(1)) {
        let source = cell.source().into_owned();
        if !cell.is_code() || source.trim().is_empty() || (is_python && is_blank(&source)) {
            continue;
        }
        let marks = Marks::of(cell, &source);
        if marks.has(&[SKIP, "nbval-skip"]) {
            skipped += 1;
            continue;
        }
        let saved = cell.outputs();
        let expectation = if wanted.is_some_and(|wanted| !wanted.contains(&index)) {
            Expectation::NotWanted
        } else if marks.has(&["nbval-ignore-output"]) {
            Expectation::Ignored
        } else if saved.is_empty() && cell.execution_count().is_none() {
            Expectation::NoneSaved
        } else {
            Expectation::WithSaved
        };
        let may_fail = marks.has(&[RAISES, "nbval-raises-exception"])
            || saved.iter().any(|output| matches!(output, Output::Error { .. }));
        let asks_for_help = is_python && asks_for_help(&source);
        cells.push(Checked {
            index,
            id: cell.id().clone(),
            source,
            saved,
            expectation,
            may_fail,
            asks_for_help,
            inputs: BTreeSet::new(),
        });
    }
    if is_python {
        link(&mut cells);
    }
    (cells, skipped)
}

/// Whether a line asks for help (`name?`, `?name`), which goes to a pager.
fn asks_for_help(source: &str) -> bool {
    let mut lines = source.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.any(|line| line.starts_with('?') || line.ends_with('?'))
}

/// A cell's own settings for its test.
struct Marks(BTreeSet<String>);

impl Marks {
    fn of(cell: &Cell, source: &str) -> Self {
        let comments = source.lines().filter_map(|line| line.trim().strip_prefix('#'));
        let comments = comments.map(|comment| comment.trim().to_ascii_lowercase().replace('_', "-"));
        Self(cell.tags().into_iter().chain(comments).collect())
    }

    fn has(&self, marks: &[&str]) -> bool {
        marks.iter().any(|mark| self.0.contains(*mark))
    }
}

/// Notes for each cell which cells before it made or changed what it uses.
fn link(cells: &mut [Checked]) {
    let mut writers: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let (mut functions, mut fixed) = (BTreeMap::new(), BTreeSet::new());
    for (position, cell) in cells.iter_mut().enumerate() {
        let names = Names::of_cell(&cell.source);
        let mut uses = names.effects.uses.clone();
        // What is called uses what its body uses.
        let called: Vec<_> = names.effects.reads.iter().filter_map(|name| functions.get(name)).collect();
        uses.extend(called.into_iter().flatten().cloned());
        cell.inputs = uses.iter().filter_map(|name| writers.get(name)).flatten().copied().collect();
        for name in &names.effects.defines {
            if names.fixed.contains_key(name) {
                // An import, for example, is the same each time.
                writers.remove(name);
                fixed.insert(name.clone());
            } else {
                fixed.remove(name);
                writers.insert(name.clone(), BTreeSet::from([position]));
            }
        }
        // What a call or a setting changes in a module or function is no data that others use.
        let changed = names.effects.changed().chain(names.effects.called());
        for name in changed.filter(|name| !fixed.contains(*name) && !is_configuration(name)) {
            writers.entry(name.clone()).or_default().insert(position);
        }
        for (name, effects) in names.functions {
            functions.insert(name, effects.mentioned().cloned().collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, Json, NewCell};
    use serde_json::json;

    use super::Expectation::{Ignored, NoneSaved};
    use super::*;

    fn notebook(cells: &[(&str, &[&str])]) -> Notebook {
        let mut notebook = Notebook::new();
        for (index, (source, tags)) in cells.iter().enumerate() {
            let mut cell = NewCell::new(CellType::Code, *source);
            cell.metadata = Some(Json::from_value(&json!({ "tags": tags })));
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        notebook
    }

    #[test]
    fn tags_and_comments_say_how_a_cell_is_tested() {
        let notebook = notebook(&[
            ("1", &[]),
            ("# only a comment", &[]),
            ("2", &["skip-execution"]),
            ("# NBVAL_SKIP\n3", &[]),
            ("4", &["raises-exception"]),
            ("# NBVAL_RAISES_EXCEPTION\n5", &[]),
            ("6", &["nbval-ignore-output"]),
            ("  # nbval_ignore_output\n7", &[]),
        ]);
        let (cells, skipped) = checked(&notebook, None);
        let found: Vec<_> = cells.iter().map(|cell| (cell.index, cell.expectation, cell.may_fail)).collect();
        assert_eq!(
            found,
            [
                (0, NoneSaved, false),
                (4, NoneSaved, true),
                (5, NoneSaved, true),
                (6, Ignored, false),
                (7, Ignored, false)
            ]
        );
        assert_eq!(skipped, 2);
    }

    #[test]
    fn wanted_cells_run_with_those_above() {
        let notebook = notebook(&[("1", &[]), ("2", &[]), ("3", &[])]);
        let (cells, _) = checked(&notebook, Some(&BTreeSet::from([1])));
        assert_eq!(
            cells.iter().map(|cell| cell.expectation).collect::<Vec<_>>(),
            [Expectation::NotWanted, NoneSaved]
        );
    }

    #[test]
    fn lines_that_open_a_pager_are_known() {
        for source in ["len?", "x = 1\n?str.upper", "len??"] {
            assert!(asks_for_help(source), "{source}");
        }
        for source in ["print(1)", "# why?", "%time f()", "len"] {
            assert!(!asks_for_help(source), "{source}");
        }
    }

    #[test]
    fn calling_what_is_imported_or_a_function_changes_neither() {
        let notebook = notebook(&[
            ("import time\ndef f(): return 1", &[]),
            ("begun = time.time()\nf()", &[]),
            ("time.sleep(1)\nf()", &[]),
            ("begun", &[]),
        ]);
        let (cells, _) = checked(&notebook, None);
        let inputs: Vec<Vec<usize>> =
            cells.iter().map(|cell| cell.inputs.iter().copied().collect()).collect();
        assert_eq!(inputs, [vec![], vec![], vec![], vec![1]]);
    }

    #[test]
    fn a_setting_of_a_module_is_no_input() {
        let notebook = notebook(&[
            ("import matplotlib.pyplot as plt", &[]),
            ("plt.rcParams['figure.figsize'] = (4, 3)", &[]),
            ("plt.plot([1])\nplt.title.x = 1", &[]),
            ("plt.plot([2])", &[]),
        ]);
        let (cells, _) = checked(&notebook, None);
        assert!(cells.iter().all(|cell| cell.inputs.is_empty()));
    }

    #[test]
    fn inputs_are_the_cells_that_wrote_what_is_used() {
        let notebook = notebook(&[
            ("import random", &[]),
            ("x = random.random()", &[]),
            ("y = 1", &[]),
            ("def f(): return x", &[]),
            ("x + y", &[]),
            ("f()", &[]),
            ("l = []", &[]),
            ("l.append(x)", &[]),
            ("l", &[]),
        ]);
        let (cells, _) = checked(&notebook, None);
        let inputs: Vec<Vec<usize>> =
            cells.iter().map(|cell| cell.inputs.iter().copied().collect()).collect();
        assert_eq!(inputs[4], [1, 2]);
        assert!(inputs[1].is_empty());
        assert_eq!(inputs[5], [1]);
        assert_eq!(inputs[7], [1, 6]);
        assert_eq!(inputs[8], [6, 7]);
    }
}
