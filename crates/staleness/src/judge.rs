//! The rules' findings about the cells of a notebook, as far as they are kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use names::{ARRAYS, CONFIGURATION, FLOATS, FRAMES, Name, Names, Undefined};
use notebook::{Cell, CellId, Notebook};
use syntax::with_stack;

use crate::carried::{Codes, Present, carried};
use crate::cell_names::{CellNames, MAX_SOURCE, ReadNames};
use crate::facts::is_python;
use crate::shown::depends_on;
use crate::{CellState, Clock, Facts, Plan, RandomUses, Run, add_random, plan, states};

/// All that the states of a notebook's cells depend on.
pub struct Basis {
    pub notebook: Notebook,
    pub language: String,
    /// Of what is known of its runs; 0 if none is.
    pub version: u64,
    /// The kernel's instance, if it lives.
    pub instance: Option<u64>,
    /// See [`Facts::modules`].
    pub modules: BTreeMap<Name, u64>,
    pub clock: String,
}

impl Basis {
    fn is_same(&self, other: &Self) -> bool {
        let key = |basis: &Self| (basis.version, basis.instance);
        key(self) == key(other)
            && (&self.language, &self.clock, &self.modules) == (&other.language, &other.clock, &other.modules)
            && self.notebook.has_cells_of(&other.notebook)
    }
}

/// The findings about the cells of a notebook.
pub struct Judged {
    basis: Basis,
    /// For each cell, its state if it is a code cell. `None` if no run is known: then it follows from the cell alone.
    states: Option<Vec<Option<CellState>>>,
    /// The cells of which a run is known, by their indices, and whether they have run as they are, without an error, in the present
    /// kernel.
    ran: HashMap<usize, bool>,
    undefined: Arc<[Undefined]>,
}

impl Judged {
    /// The state of the cell at this index.
    pub fn state(&self, index: usize, cell: &Cell) -> Option<CellState> {
        if let Some(states) = &self.states {
            return states.get(index).cloned().flatten();
        }
        let (instance, clock): (_, Clock<'_>) = (self.basis.instance, &|_| String::new());
        let facts = [crate::Cell::of(index, cell, &cell.source(), &self.basis.language)];
        states(Facts { cells: &facts, runs: &[], instance, modules: &self.basis.modules, clock }).pop()
    }

    pub fn has_run_well(&self, index: usize) -> bool {
        self.ran.get(&index) == Some(&true)
    }

    /// Whether a run of the cell is known.
    pub fn has_run(&self, index: usize) -> bool {
        self.ran.contains_key(&index)
    }

    pub fn has_runs(&self) -> bool {
        self.states.is_some()
    }

    /// In the order of the cells.
    pub fn undefined(&self) -> &[Undefined] {
        &self.undefined
    }
}

/// All facts about a notebook, and what the rules say.
pub struct NotebookFacts {
    /// The code cells.
    pub cells: Vec<crate::Cell>,
    runs: Vec<Run>,
    instance: Option<u64>,
    modules: BTreeMap<Name, u64>,
    pub states: Vec<CellState>,
}

impl NotebookFacts {
    /// See [`plan`].
    pub fn plan(&self, wanted: &[usize], all: bool) -> Plan {
        let clock: Clock<'_> = &|_| String::new();
        let Self { cells, runs, instance, modules, .. } = self;
        let facts = Facts { cells, runs, instance: *instance, modules, clock };
        plan(facts, &self.states, wanted, all)
    }
}

/// Judges the cells of one notebook. It keeps what was found last, and of the names no more than a small notebook has.
#[derive(Default)]
pub struct Judge {
    last: Option<Arc<Judged>>,
    cell_names: CellNames,
    names: ReadNames,
    random: RandomUses,
}

impl Judge {
    pub fn judged(
        &mut self,
        basis: Basis,
        runs: impl FnOnce() -> (Vec<Run>, Codes),
        clock: Clock<'_>,
    ) -> Arc<Judged> {
        if let Some(last) = self.last.as_ref().filter(|last| last.basis.is_same(&basis)) {
            return last.clone();
        }
        // Its cells may be all that is left of an earlier file.
        self.last = None;
        let undefined = self.undefined(&basis.notebook, &basis.language);
        let runs = if basis.version == 0 { (Vec::new(), Codes::new()) } else { runs() };
        let facts = (!runs.0.is_empty()).then(|| self.facts(&basis, runs, clock));
        let ran = facts.as_ref().map(|facts| ran(facts, basis.instance)).unwrap_or_default();
        let count = basis.notebook.cells().len();
        let states = facts.map(|facts| {
            let mut all = vec![None; count];
            for (cell, state) in facts.cells.iter().zip(facts.states) {
                all[cell.index] = Some(state);
            }
            all
        });
        let judged = Arc::new(Judged { basis, states, ran, undefined });
        self.last = Some(judged.clone());
        judged
    }

    /// The names that cells use and no cell above defines, in the order of the cells.
    pub fn undefined(&mut self, notebook: &Notebook, language: &str) -> Arc<[Undefined]> {
        if self.last.as_ref().is_some_and(|last| !last.basis.notebook.has_cells_of(notebook)) {
            self.last = None;
        }
        self.names.start(notebook, language);
        with_stack(|| self.cell_names.undefined(notebook, language, &mut self.names))
    }

    pub fn facts(&mut self, basis: &Basis, runs: (Vec<Run>, Codes), clock: Clock<'_>) -> NotebookFacts {
        with_stack(|| self.facts_now(basis, runs, clock))
    }

    fn facts_now(
        &mut self,
        basis: &Basis,
        (runs, codes): (Vec<Run>, Codes),
        clock: Clock<'_>,
    ) -> NotebookFacts {
        let (notebook, instance) = (&basis.notebook, basis.instance);
        self.names.start(notebook, &basis.language);
        let (mut cells, sources) = crate::Cell::all_of(notebook, &basis.language);
        let mut rest = MAX_SOURCE;
        for (fact, source) in cells.iter_mut().zip(&sources) {
            fact.names = self.names.within(source, rest);
            rest = rest.saturating_sub(source.len());
        }
        let ran = runs.iter().map(|run| &run.names);
        let names: Vec<&Names> =
            cells.iter().map(|cell| &cell.names).chain(ran).map(|names| &**names).collect();
        let options = [CONFIGURATION, ARRAYS, FLOATS, FRAMES].into_iter();
        let options: Vec<_> = options.filter(|it| names.iter().any(|names| names.sets(it))).collect();
        for cell in &mut cells {
            cell.shows = depends_on(&notebook.cells()[cell.index], &options);
        }
        let runs = if runs.is_empty() {
            runs
        } else {
            let names = |at: usize| cells[at].names.clone();
            let present = Present { cells: &cells, sources: &sources, names: &names };
            let (mut runs, _) = carried(&present, runs, &codes, instance);
            if is_python(&basis.language) && sources.iter().map(String::len).sum::<usize>() <= MAX_SOURCE {
                let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
                let ran = |hash| codes.get(&hash).map(ToString::to_string);
                add_random(&mut self.random, &mut cells, &mut runs, &sources, ran);
            }
            runs
        };
        let with_digest: HashSet<&CellId> =
            runs.iter().filter(|run| run.outputs.is_some()).filter_map(|run| run.cell.as_ref()).collect();
        for cell in cells.iter_mut().filter(|cell| with_digest.contains(&cell.id)) {
            cell.outputs = Some(notebook.cells()[cell.index].outputs_digest());
        }
        let modules = basis.modules.clone();
        let states = states(Facts { cells: &cells, runs: &runs, instance, modules: &modules, clock });
        NotebookFacts { cells, runs, instance, modules, states }
    }
}

fn ran(facts: &NotebookFacts, instance: Option<u64>) -> HashMap<usize, bool> {
    let runs = facts.runs.iter().filter(|run| !run.is_superseded);
    let last: HashMap<&CellId, &Run> = runs.filter_map(|run| Some((run.cell.as_ref()?, run))).collect();
    let is_well = |cell: &crate::Cell, run: &Run| {
        !run.has_failed && instance == Some(run.instance) && run.source == cell.source
    };
    let cells = facts.cells.iter().filter_map(|cell| Some((cell, last.get(&cell.id)?)));
    cells.map(|(cell, run)| (cell.index, is_well(cell, run))).collect()
}

#[cfg(test)]
mod tests;
