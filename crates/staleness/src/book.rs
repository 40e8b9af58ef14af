//! The facts, arranged so that the rules find them.

use std::collections::{BTreeSet, HashMap};

use names::{Name, Names};
use notebook::CellId;

use crate::effective::{Effective, Write};
use crate::facts::{Facts, Run};

pub(crate) struct Book<'a> {
    pub(crate) facts: Facts<'a>,
    /// For each cell, its run.
    runs: Vec<Option<&'a Run>>,
    /// For each cell, what its source does now.
    pub(crate) now: Vec<Effective>,
    /// For each name, the cells that write it now, in order.
    writers: HashMap<Name, Vec<(usize, Write)>>,
    /// For each name, what wrote it in the present instance.
    events: HashMap<Name, Vec<Event<'a>>>,
}

/// Something that wrote a name in the present kernel.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) run: &'a Run,
    /// Where its cell is; `None` if it has none, or it was deleted.
    pub(crate) position: Option<usize>,
    pub(crate) write: Write,
}

impl<'a> Book<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let positions: HashMap<&CellId, usize> =
            facts.cells.iter().enumerate().map(|(position, cell)| (&cell.id, position)).collect();
        let position = |run: &Run| run.cell.as_ref().and_then(|id| positions.get(id)).copied();
        let mut runs = vec![None; facts.cells.len()];
        for run in facts.runs.iter().filter(|run| !run.is_superseded) {
            if let Some(position) = position(run) {
                runs[position] = Some(run);
            }
        }
        let definers = Definers::new(facts);
        let now: Vec<_> = facts
            .cells
            .iter()
            .enumerate()
            .map(|(position, cell)| definers.effective(&cell.names, position))
            .collect();
        let mut events = HashMap::<_, Vec<_>>::new();
        for run in facts.runs.iter().filter(|run| Some(run.instance) == facts.instance) {
            let position = position(run);
            let did = definers.effective(&run.names, position.unwrap_or(facts.cells.len()));
            for (name, write) in did.writes {
                events.entry(name).or_default().push(Event { run, position, write });
            }
        }
        let mut writers = HashMap::<_, Vec<_>>::new();
        for (position, effective) in now.iter().enumerate() {
            for (name, write) in &effective.writes {
                writers.entry(name.clone()).or_default().push((position, *write));
            }
        }
        Self { facts, runs, now, writers, events }
    }

    pub(crate) fn run(&self, position: usize) -> Option<&'a Run> {
        self.runs[position]
    }

    /// Whether a run was in the kernel as it is now.
    pub(crate) fn is_present(&self, run: &Run) -> bool {
        self.facts.instance == Some(run.instance)
    }

    /// What wrote a name in the present instance.
    pub(crate) fn events(&self, name: &str) -> &[Event<'a>] {
        self.events.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The names that a cell defines or changes now.
    pub(crate) fn strong_writes(&self, position: usize) -> Vec<Name> {
        let writes = self.now[position].writes.iter();
        writes.filter(|(_, write)| !write.is_weak()).map(|(name, _)| name.clone()).collect()
    }

    /// The cells that write a name now, in order.
    pub(crate) fn writers(&self, name: &str) -> &[(usize, Write)] {
        self.writers.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The writers of a name that a cell uses, and the one that defines it.
    pub(crate) fn writers_above(&self, name: &str, position: usize) -> (&[(usize, Write)], Option<usize>) {
        let all = self.writers(name);
        let above = &all[..all.partition_point(|(writer, _)| *writer < position)];
        let definer = above.iter().rposition(|(_, write)| *write == Write::Defines);
        (&above[definer.unwrap_or(0)..], definer.map(|index| above[index].0))
    }

    /// Whether a cell defines a name with the same value each time, and did so when it ran.
    pub(crate) fn is_fixed(&self, position: usize, name: &str) -> bool {
        let now = self.facts.cells[position].names.fixed.get(name);
        now.is_some() && self.runs[position].is_some_and(|run| run.names.fixed.get(name) == now)
    }
}

/// The cells by the names that they themselves define.
struct Definers<'a> {
    facts: Facts<'a>,
    positions: HashMap<&'a str, Vec<usize>>,
    /// The names that share an object with another one somewhere.
    aliased: BTreeSet<&'a Name>,
}

impl<'a> Definers<'a> {
    fn new(facts: Facts<'a>) -> Self {
        let mut positions = HashMap::<_, Vec<_>>::new();
        for (position, cell) in facts.cells.iter().enumerate() {
            for name in &cell.names.effects.defines {
                positions.entry(name.as_str()).or_default().push(position);
            }
        }
        let aliased = facts.cells.iter().flat_map(|cell| &cell.names.aliases);
        Self { facts, positions, aliased: aliased.flat_map(|(alias, name)| [alias, name]).collect() }
    }

    /// What a cell at this position does that has these names.
    fn effective(&self, names: &Names, position: usize) -> Effective {
        let functions = |name: &str| self.definer(name, position).and_then(|names| names.functions.get(name));
        let is_import = |name: &str| {
            names.imports.contains(name)
                || (!names.effects.defines.contains(name)
                    && self.definer(name, position).is_some_and(|names| names.imports.contains(name)))
        };
        Effective::of(names, functions, |name| self.aliases(name, position), is_import)
    }

    /// The other names of an object as seen from this position.
    fn aliases(&self, name: &str, position: usize) -> Vec<Name> {
        let object = self.object(name, position);
        let is_alias = |other: &&Name| *other != name && self.object(other, position) == object;
        self.aliased.iter().copied().filter(is_alias).cloned().collect()
    }

    /// What stands for the object of a name: the cell that made it, and the name that it has there. After `df = load()`, `a = df` and
    /// `df = df.head()` in cells 0, 1 and 2, `a` is (0, `df`) and `df` is (2, `df`).
    fn object<'n>(&self, name: &'n str, position: usize) -> (Option<usize>, &'n str)
    where
        'a: 'n,
    {
        let all = self.positions.get(name).map(Vec::as_slice).unwrap_or_default();
        let Some(above) = all.partition_point(|definer| *definer < position).checked_sub(1) else {
            return (None, name);
        };
        let names = &self.facts.cells[all[above]].names;
        match names.aliases.get(name) {
            Some(original) if names.effects.defines.contains(original) => (Some(all[above]), original),
            Some(original) => self.object(original, all[above]),
            None => (Some(all[above]), name),
        }
    }

    /// The names of the cell that defines a name as seen from this position: the nearest above, else the first below.
    fn definer(&self, name: &str, position: usize) -> Option<&'a Names> {
        let all = self.positions.get(name)?;
        let above = all.partition_point(|definer| *definer < position);
        let definer = above.checked_sub(1).map_or_else(|| all.first(), |index| all.get(index))?;
        Some(&self.facts.cells[*definer].names)
    }
}
