//! Which cells of a notebook are stale, in any place: from its cells, the runs on its kernel and the kernel as it is now.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use names::{Names, Undefined, Unknown, is_blank};
use notebook::Notebook;
use staleness::{Cell, CellState, Clock, Facts, Run, State, add_random, hash, plan, states};

use crate::open_notebook::OpenNotebook;
use crate::place::KernelState;
use crate::run_history::{carried, names_of};
use crate::runs::CellTags;
use crate::workspace::Workspace;

/// The names of more source than this are not looked for, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;

/// The states of a notebook's code cells at one moment.
pub struct CellStates {
    /// The index of each in the notebook.
    indices: Vec<usize>,
    states: Vec<CellState>,
    has_runs: bool,
    cells: Vec<Cell>,
    runs: Vec<Run>,
    /// The kernel's instance, if it lives.
    instance: Option<u64>,
    /// The indices of the cells with a tag that leaves them out where several run.
    skipped: Vec<usize>,
    /// The indices of the cells with a tag that expects an error.
    failing: Vec<usize>,
    /// The names that cells use and none above defines, once they are asked for.
    undefined: OnceLock<Vec<Undefined>>,
}

impl CellStates {
    /// The state of the cell at this index; `None` if it is no code cell.
    pub fn get(&self, index: usize) -> Option<&CellState> {
        self.indices.binary_search(&index).ok().map(|position| &self.states[position])
    }

    pub fn is_stale(&self, index: usize) -> bool {
        self.get(index).is_some_and(|state| state.state.is_stale())
    }

    /// What the cell at this index uses and no cell above defines. Nothing for a cell that has run well as it is, in the present
    /// kernel, which may have got the name from elsewhere.
    pub fn undefined(&self, index: usize) -> impl Iterator<Item = &Undefined> {
        let cell = self.cells.iter().find(|cell| cell.index == index);
        let has_run_well = cell.is_some_and(|cell| has_run_well(cell, &self.runs, self.instance));
        self.undefined_when_fresh(index).filter(move |_| !has_run_well)
    }

    /// What the cell at this index uses and no cell above defines, as a run in a fresh kernel meets it.
    pub fn undefined_when_fresh(&self, index: usize) -> impl Iterator<Item = &Undefined> {
        let undefined = self.undefined.get_or_init(|| {
            let known: Vec<_> = self.cells.iter().map(|cell| (cell.index, &*cell.names)).collect();
            names::undefined(&known)
        });
        let may_fail = self.failing.contains(&index);
        undefined.iter().filter(move |undefined| undefined.index == index && !may_fail)
    }

    /// Whether any run of the notebook is known. If not, its cells can only have never run, or run elsewhere.
    pub fn has_runs(&self) -> bool {
        self.has_runs
    }

    /// The indices of the cells to run so that the stale ones among `wanted` are up to date, in order. With `all`, also
    /// of those that would be stale afterwards. Left out are cells that are running, and those with the tag `skip-execution`.
    pub fn to_run(&self, wanted: impl Iterator<Item = usize>, all: bool) -> Vec<usize> {
        let wanted: Vec<_> = wanted.filter_map(|index| self.indices.binary_search(&index).ok()).collect();
        let planned = plan(&self.states, &wanted, all).into_iter().map(|position| self.indices[position]);
        let is_running = |index| self.get(index).is_some_and(|it| it.state == State::Running);
        planned.filter(|index| !self.skipped.contains(index) && !is_running(*index)).collect()
    }
}

/// Whether a cell has run as it is, without an error, in the present kernel.
fn has_run_well(cell: &Cell, runs: &[Run], instance: Option<u64>) -> bool {
    runs.iter().any(|run| {
        run.cell.as_ref() == Some(&cell.id)
            && run.source == cell.source
            && !run.has_failed
            && instance == Some(run.instance)
    })
}

impl Workspace {
    /// The states of the code cells of `notebook`, a snapshot of `opened`. `clock` words the time of a run.
    pub fn cell_states(&self, opened: &OpenNotebook, notebook: &Notebook, clock: Clock<'_>) -> CellStates {
        let history = self.runner().history();
        let kernel =
            opened.kernel().filter(|kernel| !kernel.is_gone()).map(|kernel| (kernel.description(), kernel));
        let (runs, codes) = history.runs(opened, kernel.as_ref().map(|(_, kernel)| &**kernel));
        let is_alive =
            |state: &KernelState| !matches!(state, KernelState::Dead { .. } | KernelState::NotStarted);
        let alive = kernel.as_ref().filter(|(known, _)| is_alive(&known.state));
        let instance = alive.and_then(|(_, kernel)| history.instance(&**kernel));
        let language = kernel.map(|(known, _)| known.language).or_else(|| notebook.language());
        let language = language.unwrap_or_else(|| "python".to_owned());

        // In other languages, `#` may begin code.
        let is_python = language.eq_ignore_ascii_case("python");
        let mut left = MAX_SOURCE;
        let mut last = std::mem::take(&mut *opened.names.lock());
        let mut names = HashMap::new();
        let mut known_names = |source: &str, source_hash: u64| {
            let is_short = source.len() <= left;
            left = left.saturating_sub(source.len());
            if !is_short {
                return Arc::new(Names::unknown(Unknown::TooLong));
            }
            let key = (language.clone(), source_hash);
            let found = last.remove(&key);
            let read = || found.unwrap_or_else(|| Arc::new(names_of(source, &language)));
            Arc::clone(names.entry(key).or_insert_with(read))
        };
        let code = || notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
        let mut cells: Vec<Cell> = code()
            .map(|(index, cell)| {
                let source = cell.source();
                let hash = hash(&source);
                Cell {
                    index,
                    id: cell.id().clone(),
                    source: hash,
                    names: known_names(&source, hash),
                    random: BTreeMap::new(),
                    is_blank: source.trim().is_empty() || (is_python && is_blank(&source)),
                    has_outputs: cell.output_count() > 0,
                    execution_count: cell.execution_count(),
                }
            })
            .collect();
        *opened.names.lock() = names;
        let has_runs = !runs.is_empty();
        let runs = if has_runs {
            let sources: Vec<String> = code().map(|(_, cell)| cell.source().into_owned()).collect();
            let mut runs = carried(&cells, &sources, runs, &codes, instance);
            if is_python && sources.iter().map(String::len).sum::<usize>() <= MAX_SOURCE {
                let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
                let ran = |hash| codes.get(&hash).map(ToString::to_string);
                add_random(&mut opened.random.lock(), &mut cells, &mut runs, &sources, ran);
            }
            runs
        } else {
            runs
        };
        let skipped = code().filter(|(_, cell)| CellTags::of(cell).is_skipped);
        let skipped = skipped.map(|(index, _)| index).collect();
        let failing = code().filter(|(_, cell)| CellTags::of(cell).may_fail);
        let failing = failing.map(|(index, _)| index).collect();
        let mut states = states(Facts { cells: &cells, runs: &runs, instance, clock });
        let unfinished = self.journal().unfinished(opened.path());
        for run in &unfinished {
            let position = cells.iter().position(|cell| {
                run.cell().is_some_and(|run| run.id == cell.id) && hash(run.source()) == cell.source
            });
            if let Some(position) = position {
                states[position].runs(format!("run {} is {}", run.id(), run.state().name()));
            }
        }
        let has_runs = has_runs || !unfinished.is_empty();
        let indices = cells.iter().map(|cell| cell.index).collect();
        CellStates {
            indices,
            states,
            has_runs,
            cells,
            runs,
            instance,
            skipped,
            failing,
            undefined: OnceLock::new(),
        }
    }
}
