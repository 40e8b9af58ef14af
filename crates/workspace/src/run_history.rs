//! What is remembered of runs to tell which cells are stale.

use std::sync::Arc;
use std::time::SystemTime;

use names::{Names, Unknown};
use parking_lot::Mutex;
use staleness::{Ended, History, hash};

use crate::place::Kernel;
use crate::runs::{Run, RunState};
use crate::{KernelId, LossCause, NotebookPath};

/// How many notebooks are remembered, and how many kernels. The ones that were used longest ago are forgotten.
const MAX_NOTEBOOKS: usize = 64;
const MAX_KERNELS: usize = 256;

/// The last runs of the cells of all notebooks, and the instances of their kernels. It does not keep outputs.
#[derive(Default)]
pub(crate) struct RunHistory(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The notebook that ran last is at the end.
    notebooks: Vec<(NotebookPath, History)>,
    /// The same for kernels.
    kernels: Vec<(KernelId, Instance)>,
    instances: u64,
}

/// The life of a kernel between two restarts.
#[derive(Debug, Clone, Copy)]
struct Instance {
    number: u64,
    /// The last count that it gave.
    count: Option<u64>,
}

impl RunHistory {
    /// The kernel's instance, for a run that begins.
    pub(crate) fn begin(&self, kernel: &KernelId) -> u64 {
        let mut inner = self.0.lock();
        match inner.instance(kernel) {
            Some(instance) => instance.number,
            None => inner.begin(kernel).number,
        }
    }

    /// A restart was requested: what runs from now on finds no names.
    pub(crate) fn restarted(&self, kernel: &KernelId) {
        self.0.lock().begin(kernel);
    }

    /// The present instance of a kernel that has run something.
    pub(crate) fn instance(&self, kernel: &KernelId) -> Option<u64> {
        self.0.lock().instance(kernel).map(|instance| instance.number)
    }

    /// The runs of a notebook's cells.
    pub(crate) fn runs(&self, path: &NotebookPath) -> Vec<staleness::Run> {
        let inner = self.0.lock();
        let known = inner.notebooks.iter().find(|(known, _)| known == path);
        known.map(|(_, history)| history.runs().to_vec()).unwrap_or_default()
    }

    /// Adds a run that is over, if its kernel had begun with it in this instance.
    pub(crate) fn ended(&self, path: &NotebookPath, run: &Run, kernel: &dyn Kernel, instance: u64) {
        let view = run.view();
        let (state, count) = (view.state, view.execution_count);
        let has_begun = match &state {
            RunState::Done | RunState::Error { .. } => true,
            RunState::Lost { is_started, .. } => *is_started,
            RunState::Interrupted | RunState::KernelDied { .. } => count.is_some(),
            _ => false,
        };
        if !has_begun {
            return;
        }
        let mut ended = Ended {
            cell: run.cell().map(|cell| cell.id.clone()),
            source: hash(run.source()),
            names: Arc::new(names_of(run.source(), &kernel.description().language)),
            instance,
            ended_at: SystemTime::now(),
            has_failed: state != RunState::Done,
            execution_count: count,
        };
        let mut inner = self.0.lock();
        ended.instance = inner.counted(kernel.id(), instance, count);
        inner.history(path).add(ended);
        if matches!(
            state,
            RunState::KernelDied { .. } | RunState::Lost { cause: LossCause::KernelReplaced, .. }
        ) {
            inner.begin(kernel.id());
        }
    }
}

impl Inner {
    fn instance(&mut self, kernel: &KernelId) -> Option<&mut Instance> {
        self.kernels.iter_mut().find(|(known, _)| known == kernel).map(|(_, instance)| instance)
    }

    fn begin(&mut self, kernel: &KernelId) -> Instance {
        self.instances += 1;
        let instance = Instance { number: self.instances, count: None };
        self.kernels.retain(|(known, _)| known != kernel);
        self.kernels.push((kernel.clone(), instance));
        if self.kernels.len() > MAX_KERNELS {
            self.kernels.remove(0);
        }
        instance
    }

    /// The instance in which a run with this count was. Counts grow, so that one that does not is of another instance:
    /// somebody else restarted the kernel, or it died while idle.
    fn counted(&mut self, kernel: &KernelId, began_in: u64, count: Option<u64>) -> u64 {
        let Some(present) = self.instance(kernel).filter(|present| present.number == began_in) else {
            return began_in;
        };
        let is_restarted = count.zip(present.count).is_some_and(|(now, last)| now <= last);
        if !is_restarted {
            present.count = count.or(present.count);
            return began_in;
        }
        let begun = self.begin(kernel).number;
        if let Some(present) = self.instance(kernel) {
            present.count = count;
        }
        begun
    }

    fn history(&mut self, path: &NotebookPath) -> &mut History {
        let known = self.notebooks.iter().position(|(known, _)| known == path);
        let known = known.map(|index| self.notebooks.remove(index));
        if self.notebooks.len() == MAX_NOTEBOOKS {
            self.notebooks.remove(0);
        }
        self.notebooks.push(known.unwrap_or_else(|| (path.clone(), History::default())));
        let last = self.notebooks.len() - 1;
        &mut self.notebooks[last].1
    }
}

/// The names of a cell in this language.
pub(crate) fn names_of(source: &str, language: &str) -> Names {
    if language.eq_ignore_ascii_case("python") {
        Names::of_cell(source)
    } else {
        Names::unknown(Unknown::NotPython)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_does_not_grow_is_of_another_instance() {
        let (mut inner, kernel) = (Inner::default(), KernelId::from("k"));
        let first = inner.begin(&kernel).number;
        assert_eq!(inner.counted(&kernel, first, Some(3)), first);
        assert_eq!(inner.counted(&kernel, first, None), first);
        assert_eq!(inner.counted(&kernel, first, Some(4)), first);
        let second = inner.counted(&kernel, first, Some(1));
        assert_ne!(second, first);
        assert_eq!(inner.counted(&kernel, second, Some(2)), second);
        // A run that a restart ended belongs to the instance in which it began.
        let third = inner.begin(&kernel).number;
        assert_eq!(inner.counted(&kernel, second, Some(3)), second);
        assert_eq!(inner.counted(&kernel, third, Some(1)), third);
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten() {
        let (mut inner, path) =
            (Inner::default(), |index: usize| NotebookPath::from(format!("{index}.ipynb")));
        for index in 0..MAX_NOTEBOOKS {
            inner.history(&path(index));
        }
        inner.history(&path(0));
        inner.history(&path(MAX_NOTEBOOKS));
        let kept: Vec<_> = inner.notebooks.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!((kept.len(), &kept[0], kept.contains(&path(0))), (MAX_NOTEBOOKS, &path(2), true));
        for index in 0..=MAX_KERNELS {
            inner.begin(&KernelId::from(format!("k{index}")));
        }
        assert_eq!(inner.kernels.len(), MAX_KERNELS);
    }
}
