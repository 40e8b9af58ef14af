//! Finds the cell that last assigned each variable of a kernel: from the names of the cells and the runs of this process.

use std::collections::HashMap;

use names::{Effects, Name, Names};
use notebook::{CellId, Notebook};
use runs::OpenNotebook;
use staleness::Run;

use crate::workspace::Workspace;

/// The names of more source than this are not looked for, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;

/// The indices of the cells that last assigned names, as far as that is certain.
pub type Assignments = HashMap<Name, usize>;

impl Workspace {
    /// The cells of `notebook`, a snapshot of `opened`, that last assigned names in its kernel, which will give `next_count` to
    /// the next execution.
    pub fn assignments(&self, opened: &OpenNotebook, notebook: &Notebook, next_count: u64) -> Assignments {
        let history = self.runner().history();
        let kernel = opened.kernel().filter(|kernel| !kernel.is_gone());
        let Some((kernel, instance)) =
            kernel.and_then(|kernel| history.instance(&*kernel).map(|instance| (kernel, instance)))
        else {
            return Assignments::new();
        };
        let (runs, _) = history.runs(opened, Some(&*kernel));
        let runs: Vec<&Run> = runs.iter().filter(|run| run.instance == instance).collect();
        let indices: HashMap<&CellId, usize> =
            notebook.cells().iter().enumerate().map(|(index, cell)| (cell.id(), index)).collect();
        let mut last = Last::default();
        for run in &runs {
            let index = run.cell.as_ref().and_then(|cell| indices.get(cell)).filter(|_| !run.has_failed);
            last.ran(&run.names.effects, index.copied().zip(run.execution_count));
        }
        let language = kernel.description().language;
        let mut left = MAX_SOURCE;
        for cell in notebook.cells().iter().filter(|cell| cell.is_code()) {
            let count = cell.execution_count().filter(|count| *count < next_count);
            let mut ours = runs.iter().filter(|run| run.cell.as_ref() == Some(cell.id()));
            let is_ours = ours.any(|run| run.execution_count == count);
            let Some(count) = count.filter(|_| !is_ours) else { continue };
            let source = cell.source();
            if source.len() > left {
                return Assignments::new();
            }
            left -= source.len();
            last.others_ran(&Names::in_language(&source, &language).effects, count);
        }
        last.0.into_iter().map(|(name, (index, _))| (name, index)).collect()
    }
}

/// For each name, the cell that last assigned it, and the count of that run.
#[derive(Debug, Default)]
struct Last(HashMap<Name, (usize, u64)>);

impl Last {
    /// A later run did this. It belongs to no cell that can be named, or may have ended before its assignments, if there is no
    /// `cell`.
    fn ran(&mut self, effects: &Effects, cell: Option<(usize, u64)>) {
        if effects.unknown.is_some() {
            return self.0.clear();
        }
        for name in effects.defines.iter().chain(&effects.deletes) {
            self.0.remove(name);
        }
        if let Some(cell) = cell {
            let defined = effects.defines.iter().filter(|name| !effects.deletes.contains(*name));
            self.0.extend(defined.map(|name| (name.clone(), cell)));
        }
    }

    /// A cell shows this count, and we did not run it: perhaps somebody else did, perhaps in an earlier kernel.
    fn others_ran(&mut self, effects: &Effects, count: u64) {
        let is_certain = |name: &Name, assigned: u64| {
            assigned > count || (effects.unknown.is_none() && !effects.defines.contains(name))
        };
        self.0.retain(|name, (_, assigned)| is_certain(name, *assigned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(source: &str) -> Effects {
        Names::of_cell(source).effects
    }

    fn known(last: &Last) -> Vec<(&str, usize)> {
        let mut known: Vec<_> = last.0.iter().map(|(name, (index, _))| (name.as_str(), *index)).collect();
        known.sort_unstable();
        known
    }

    #[test]
    fn the_last_run_that_assigned_a_name_counts() {
        let mut last = Last::default();
        last.ran(&effects("x = 1\ny = 2\nz = 3\ndef f(): pass"), Some((0, 1)));
        last.ran(&effects("y = x\ndel z"), Some((4, 2)));
        assert_eq!(known(&last), [("f", 0), ("x", 0), ("y", 4)]);
        // Code in no cell, or code that failed.
        last.ran(&effects("x = 5"), None);
        assert_eq!(known(&last), [("f", 0), ("y", 4)]);
        last.ran(&effects("exec(code)"), Some((5, 4)));
        assert!(known(&last).is_empty());
    }

    #[test]
    fn what_others_may_have_assigned_since_is_not_certain() {
        let mut last = Last::default();
        last.ran(&effects("x = 1\ny = 2"), Some((0, 3)));
        last.ran(&effects("z = 3"), Some((1, 5)));
        last.others_ran(&effects("z = x = 0"), 4);
        assert_eq!(known(&last), [("y", 0), ("z", 1)]);
        last.others_ran(&effects("exec(code)"), 4);
        assert_eq!(known(&last), [("z", 1)]);
    }
}
