//! Groups failed cells by cause: cells that lack a name which a failed cell would have defined, and cells with the
//! error of another.

use std::collections::BTreeMap;

use names::{Names, definers};
use notebook::{Cell, Output};
use place::RunState;
use render::merged;
use runs::{Run, RunView};

use crate::replies::cell_text::ranges;

/// A cell that failed.
pub struct Failure {
    index: usize,
    name: String,
    value: String,
    source: String,
    /// Whether it shows nothing else.
    is_alone: bool,
}

impl Failure {
    /// The failure of a run, if it failed with an error.
    pub fn of_run(index: usize, run: &Run, view: &RunView) -> Option<Self> {
        let RunState::Error { name, value } = &view.state else { return None };
        let is_alone = view.outputs.len() == 1 && view.notices.is_empty() && view.is_stored();
        let source = run.source().to_owned();
        Some(Self { index, name: name.clone(), value: value.clone(), source, is_alone })
    }

    /// The failure that the outputs of a cell show.
    pub fn of_cell(index: usize, cell: &Cell) -> Option<Self> {
        let outputs = cell.outputs();
        let is_alone = merged(&outputs).len() == 1;
        let error = outputs.iter().rev().find_map(|output| match output {
            Output::Error { name, value, .. } => Some((name.clone(), value.clone())),
            _ => None,
        });
        let (name, value) = error?;
        Some(Self { index, name, value, source: cell.source().into_owned(), is_alone })
    }

    /// The name that is not defined.
    fn missing(&self) -> Option<&str> {
        let value = self.value.strip_prefix("name '").filter(|_| self.name == "NameError")?;
        Some(value.split_once('\'')?.0)
    }
}

/// Failures by the index of their first cell: cells that follow from it, and cells with the same error.
#[derive(Debug, Default)]
pub struct Causes(BTreeMap<usize, [Vec<usize>; 2]>);

impl Causes {
    /// The causes of failures, which come in the order of their cells.
    pub fn of(failures: &[Failure]) -> Self {
        let names: Vec<Names> = failures.iter().map(|failure| Names::of_cell(&failure.source)).collect();
        let mut causes = Self::default();
        // The first cell of each cause.
        let mut roots: Vec<usize> = Vec::new();
        for (at, failure) in failures.iter().enumerate() {
            let before: Vec<(usize, &Names)> = names[..at].iter().enumerate().collect();
            let definer = failure.missing().and_then(|name| definers(&before, name).pop());
            let is_same =
                |earlier: &Failure| (&earlier.name, &earlier.value) == (&failure.name, &failure.value);
            let root = match (definer, failures[..at].iter().position(is_same)) {
                (Some(definer), _) => roots[definer],
                (None, Some(same)) => roots[same],
                (None, None) => at,
            };
            roots.push(root);
            if root != at && failure.is_alone {
                let effects = causes.0.entry(failures[root].index).or_default();
                effects[usize::from(definer.is_none())].push(failure.index);
            }
        }
        causes
    }

    /// Whether the failure of this cell is reported with that of another cell.
    pub fn covers(&self, index: usize) -> bool {
        self.0.values().flatten().any(|cells| cells.contains(&index))
    }

    /// The lines about the cells that failed because of this one, or like it.
    pub fn lines(&self, index: usize) -> Vec<String> {
        let Some([followers, same]) = self.0.get(&index) else { return Vec::new() };
        let line = |cells: &[usize], what: &str| {
            (!cells.is_empty()).then(|| format!("Cells {}: {what} cell {index}.", ranges(cells)))
        };
        line(followers, "follow from").into_iter().chain(line(same, "the error of")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(index: usize, source: &str, name: &str, value: &str) -> Failure {
        let [name, value, source] = [name, value, source].map(str::to_owned);
        Failure { index, name, value, source, is_alone: true }
    }

    fn undefined(index: usize, source: &str, name: &str) -> Failure {
        failure(index, source, "NameError", &format!("name '{name}' is not defined"))
    }

    #[test]
    fn cells_that_lack_what_a_failed_cell_would_have_defined_follow_from_it() {
        let missing = "No module named 'seaborn'";
        let failures = [
            failure(1, "import seaborn as sns\nimport numpy as np", "ModuleNotFoundError", missing),
            undefined(3, "a = np.zeros(3)", "np"),
            undefined(4, "b = a + 1", "a"),
            undefined(5, "print(b)", "b"),
            // It has its own cause.
            undefined(7, "print(typo)", "typo"),
            undefined(9, "sns.plot(b)", "sns"),
        ];
        let causes = Causes::of(&failures);
        assert_eq!(causes.lines(1), ["Cells 3–5, 9: follow from cell 1."]);
        assert_eq!(
            [1, 3, 4, 5, 7, 9].map(|index| causes.covers(index)),
            [false, true, true, true, false, true]
        );
        assert_eq!(causes.lines(7), [""; 0]);
    }

    #[test]
    fn an_error_that_many_cells_have_is_told_once() {
        let same =
            |index: usize| failure(index, "x", "AttributeError", "module 'numpy' has no attribute 'int'");
        let mut printed = same(8);
        printed.is_alone = false;
        let other = failure(9, "x", "AttributeError", "other");
        let causes = Causes::of(&[same(2), same(3), same(6), printed, other]);
        assert_eq!(causes.lines(2), ["Cells 3, 6: the error of cell 2."]);
        assert!(!causes.covers(8), "it shows something else, too");
        assert!(!causes.covers(9) && !causes.covers(2));
    }
}
