//! Finds the stale cells of a notebook, in any place: from its cells, the runs on its kernel and the kernel as it is now.
//!
//! It is asked far more often than it changes, so what was found is kept with all that it depends on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use names::Undefined;
use notebook::{CellId, Notebook, one_line};
use place::{KernelState, RunDetails, RunState};
use runs::{CellTags, OpenNotebook, PendingRun};
use staleness::{Basis, CellState, Clock, Judged, Plan, StaleState, hash};

use crate::workspace::Workspace;

/// The states of a notebook's code cells at one moment.
pub struct CellStates {
    notebook: Notebook,
    judged: Arc<Judged>,
    running: Running,
}

/// The states of cells of which a run has not ended, by their indices.
type Running = HashMap<usize, CellState>;

impl CellStates {
    /// The state of the cell at this index; `None` if it is no code cell.
    pub fn get(&self, index: usize) -> Option<CellState> {
        let cell = self.notebook.cells().get(index).filter(|cell| cell.is_code())?;
        self.running.get(&index).cloned().or_else(|| self.judged.state(index, cell))
    }

    pub fn is_stale(&self, index: usize) -> bool {
        self.get(index).is_some_and(|known| known.state.is_stale())
    }

    /// The indices of the cells that are stale though a run of theirs is known.
    pub fn stale_runs(&self) -> Vec<usize> {
        let is_meant = |index: &usize| self.judged.has_run(*index) && self.is_stale(*index);
        (0..self.notebook.cells().len()).filter(is_meant).collect()
    }

    /// The ids of the cells that are stale.
    pub fn stale_cells(&self) -> HashSet<&CellId> {
        let cells = self.notebook.cells().iter().enumerate();
        cells.filter(|(index, _)| self.is_stale(*index)).map(|(_, cell)| cell.id()).collect()
    }

    /// The names that the cell at this index uses and no cell above defines. None for a cell that has run well as it is, in the present
    /// kernel, which may have got the name from elsewhere.
    pub fn undefined(&self, index: usize) -> impl Iterator<Item = &Undefined> {
        let has_run_well = self.judged.has_run_well(index);
        of_cell(&self.notebook, self.judged.undefined(), index).filter(move |_| !has_run_well)
    }

    /// Whether any run of the notebook is known. If not, its cells can only have never run, or run elsewhere.
    pub fn has_runs(&self) -> bool {
        self.judged.has_runs() || !self.running.is_empty()
    }
}

/// Of what cells use undefined, in order, what this one does, if it is not expected to fail.
fn of_cell<'u>(
    notebook: &Notebook,
    undefined: &'u [Undefined],
    index: usize,
) -> impl Iterator<Item = &'u Undefined> {
    let from = undefined.partition_point(|known| known.index < index);
    let own = &undefined[from..];
    let own = &own[..own.partition_point(|known| known.index == index)];
    let may_fail = !own.is_empty() && CellTags::of(&notebook.cells()[index]).may_fail;
    own.iter().filter(move |_| !may_fail)
}

impl Workspace {
    /// Finds out which process the kernel of `opened` is, if it has run something and that is not known, and what other servers run
    /// there now.
    pub async fn look_at_kernel(&self, opened: &OpenNotebook) {
        let Some(kernel) = opened.judged_kernel() else { return opened.set_pending(Vec::new()) };
        if self.runner().history().instance(&*kernel).is_some() {
            kernel.identify().await;
        }
        opened.set_pending(self.runner().pending(&*kernel).await);
    }

    /// The states of the code cells of `notebook`, a snapshot of `opened`. `clock` words the time of a run.
    pub fn cell_states(&self, opened: &OpenNotebook, notebook: &Notebook, clock: Clock<'_>) -> CellStates {
        let basis = self.basis(opened, notebook, clock);
        let version = (basis.version, basis.instance);
        let language = basis.language.clone();
        let runs = || {
            let history = self.runner().history();
            history.carry(opened.path(), notebook, &language, version);
            history.runs(opened, None)
        };
        let judged = opened.judge().judged(basis, runs, clock);
        CellStates { notebook: notebook.clone(), judged, running: self.running(opened, notebook) }
    }

    /// Remembers which cells of `notebook`, a snapshot of `opened`, have run as parts or copies of others.
    pub(crate) fn carry_runs(&self, opened: &OpenNotebook, notebook: &Notebook) {
        let basis = self.basis(opened, notebook, &|_| String::new());
        let version = (basis.version, basis.instance);
        self.runner().history().carry(opened.path(), notebook, &basis.language, version);
    }

    /// The indices of the cells to run so that the stale ones among `wanted` are up to date, in order. With `all`, also
    /// of those that would be stale afterwards. Left out are cells that are running, unless they have to run again, and those with the
    /// tag `skip-execution`; and those that a run would not help, or that need one of these, which the plan names.
    pub fn cells_to_run(
        &self,
        opened: &OpenNotebook,
        notebook: &Notebook,
        wanted: impl Iterator<Item = usize>,
        all: bool,
    ) -> Plan {
        let clock: Clock<'_> = &|_| String::new();
        let basis = self.basis(opened, notebook, clock);
        let runs = self.runner().history().runs(opened, None);
        let mut known = opened.judge().facts(&basis, runs, clock);
        let running = self.running(opened, notebook);
        let position = |index: usize| known.cells.binary_search_by_key(&index, |cell| cell.index).ok();
        let running = running.into_iter().filter_map(|(index, run)| Some((position(index)?, run)));
        for (position, run) in running.collect::<Vec<_>>() {
            known.states[position].runs(run.evidence);
        }
        let wanted: Vec<_> = wanted.filter_map(position).collect();
        let index = |position: usize| known.cells[position].index;
        let is_skipped = |index: &usize| CellTags::of(&notebook.cells()[*index]).is_skipped;
        let Plan { cells, left_out } = known.plan(&wanted, all);
        Plan {
            cells: cells.into_iter().map(index).filter(|index| !is_skipped(index)).collect(),
            left_out: left_out.into_iter().map(|(cell, by)| (index(cell), by.map(index))).collect(),
        }
    }

    /// The names that cells of `after` use and no cell above defines, where that was not so in `before`, in a fresh kernel.
    pub fn newly_undefined(
        &self,
        opened: &OpenNotebook,
        before: &Notebook,
        after: &Notebook,
    ) -> Vec<Undefined> {
        let (was, is) = {
            let mut judge = opened.judge();
            let was = judge.undefined(before, &language(opened, before));
            (was, judge.undefined(after, &language(opened, after)))
        };
        // The index of the cell below that defines a name changes with every insertion.
        let kind = |it: &Undefined| (it.name.clone(), it.function.clone(), it.defined_in.is_some());
        let was_so = |it: &Undefined| {
            let known = before.cell(after.cells()[it.index].id());
            known.is_some_and(|(index, _)| of_cell(before, &was, index).any(|was| kind(was) == kind(it)))
        };
        let shown = |it: &&Undefined| of_cell(after, &is, it.index).next().is_some() && !was_so(it);
        is.iter().filter(shown).cloned().collect()
    }

    fn basis(&self, opened: &OpenNotebook, notebook: &Notebook, clock: Clock<'_>) -> Basis {
        let history = self.runner().history();
        let kernel = opened.judged_kernel();
        let is_alive = kernel.as_ref().is_some_and(|kernel| {
            !matches!(kernel.description().state, KernelState::Dead { .. } | KernelState::NotStarted)
        });
        let (version, instance) = history.version(opened, kernel.as_deref().map(|kernel| (kernel, is_alive)));
        let (files, mut modules) = history.modules(opened.path(), instance);
        // Of the kernels of another machine, only they can see the files.
        if let Some(folder) = opened.folder() {
            let files = files.into_iter();
            modules = files
                .filter_map(|(name, file)| Some((name, self.files().digest(&folder.join(file))?)))
                .collect();
        }
        Basis {
            notebook: notebook.clone(),
            language: language(opened, notebook),
            version,
            instance,
            modules,
            // Two clocks that word one moment alike word all alike.
            clock: clock(std::time::SystemTime::UNIX_EPOCH),
        }
    }

    fn running(&self, opened: &OpenNotebook, notebook: &Notebook) -> Running {
        let (unfinished, pending) = (self.journal().unfinished(opened.path()), opened.pending());
        if unfinished.is_empty() && pending.is_empty() {
            return Running::new();
        }
        let cells = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
        let cells: HashMap<&CellId, _> = cells.map(|(index, cell)| (cell.id(), (index, cell))).collect();
        let of_cell = |run: &Arc<runs::Run>| {
            let (index, cell) = cells.get(&run.cell()?.id)?;
            let is_as_it_ran = hash(run.source()) == hash(&cell.source());
            let state = run.state();
            let ending =
                if state.is_over() { "has just ended".to_owned() } else { format!("is {}", state.name()) };
            let known = || unfinished_run(state == RunState::Queued, format!("run {} {ending}", run.id()));
            is_as_it_ran.then(|| (*index, known()))
        };
        let others =
            pending.iter().enumerate().filter(|(_, it)| it.run.is_none()).filter_map(|(ahead, it)| {
                let PendingRun { details: RunDetails { run, notebook, cell, agent, .. }, .. } = it;
                let (index, _) =
                    cells.get(cell.as_ref().filter(|_| notebook.as_ref() == Some(opened.path()))?)?;
                let agent = if agent.is_empty() { "another server" } else { agent };
                Some((*index, unfinished_run(ahead > 0, format!("run {run} of {}", one_line(agent)))))
            });
        others.chain(unfinished.iter().filter_map(of_cell)).collect()
    }
}

fn unfinished_run(is_queued: bool, evidence: String) -> CellState {
    CellState::new(if is_queued { StaleState::Queued } else { StaleState::Running }, evidence)
}

/// The language of the code cells: that of the kernel, else what the notebook says.
fn language(opened: &OpenNotebook, notebook: &Notebook) -> String {
    let kernel = opened.judged_kernel();
    let known = kernel.map(|kernel| kernel.description().language);
    known.or_else(|| notebook.language()).unwrap_or_else(|| "python".to_owned())
}
