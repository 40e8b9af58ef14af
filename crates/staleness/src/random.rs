//! Random states among the facts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use names::{Name, Names};
use notebook::CellId;
use syntax::{RandomUse, random_use};

use crate::facts::{Cell, Run};

/// Notebooks' uses of random states, as they were last read: that takes longer than all else.
#[derive(Debug, Default)]
pub struct RandomUses(Vec<(u64, Vec<BTreeMap<Name, RandomUse>>)>);

/// The random states of which the kernel says that a run has changed them.
const REPORTED: [&str; 2] = ["Python's random state", "NumPy's random state"];

/// So many earlier sources of each cell are read.
const MAX_EARLIER: usize = 3;

impl RandomUses {
    /// The cells as they are, and as they ran.
    const CACHED: usize = 1 + MAX_EARLIER;

    fn of(&mut self, sources: &[&str]) -> Vec<BTreeMap<Name, RandomUse>> {
        let mut hash = DefaultHasher::new();
        sources.hash(&mut hash);
        let key = hash.finish();
        let entry = self.0.iter().position(|(other, _)| *other == key).map(|index| self.0.remove(index));
        let entry = entry.unwrap_or_else(|| (key, random_use(sources)));
        self.0.truncate(Self::CACHED - 1);
        self.0.insert(0, entry.clone());
        entry.1
    }
}

/// Adds what the cells do with random states, and what they did when they ran. `sources` are those of the cells, and `ran` knows what
/// has run by its [`hash`](crate::hash).
pub fn add_random(
    uses: &mut RandomUses,
    cells: &mut [Cell],
    runs: &mut [Run],
    sources: &[&str],
    ran: impl Fn(u64) -> Option<String>,
) {
    // At the end, where their seeds and draws are between no cells: the place at which they ran is not known.
    let elsewhere = elsewhere(cells, runs, &ran);
    let all: Vec<&str> = sources.iter().copied().chain(elsewhere.iter().map(|(_, code)| &**code)).collect();
    let mut all = uses.of(&all).into_iter();
    for (cell, random) in cells.iter_mut().zip(&mut all) {
        cell.random = random;
    }
    for ((run, _), random) in elsewhere.iter().zip(all) {
        runs[*run].random = random;
    }
    // For each cell its runs with other sources, the last first.
    let positions: HashMap<&CellId, usize> =
        cells.iter().enumerate().map(|(at, cell)| (&cell.id, at)).collect();
    let mut earlier: Vec<Vec<(usize, String)>> = vec![Vec::new(); cells.len()];
    let mut last = vec![None; cells.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        let Some(position) = run.cell.as_ref().and_then(|cell| positions.get(cell)).copied() else {
            continue;
        };
        if !run.is_superseded {
            last[position] = Some(index);
        }
        if run.source != cells[position].source
            && let Some(code) = ran(run.source)
        {
            earlier[position].push((index, code));
        }
    }
    // The draws of such a run are read from its source, in the place of its cell: the draws of the cells above and below decide which
    // numbers these were.
    for rank in 0..MAX_EARLIER {
        let before = earlier.iter().zip(sources);
        let before: Vec<&str> =
            before.map(|(earlier, source)| earlier.get(rank).map_or(*source, |(_, code)| code)).collect();
        if earlier.iter().all(|earlier| earlier.len() <= rank) {
            break;
        }
        for (earlier, random) in earlier.iter().zip(uses.of(&before)) {
            if let Some((run, _)) = earlier.get(rank) {
                runs[*run].random = random;
            }
        }
    }
    remove_unseen(cells, runs, &last);
    add_hidden(cells, runs, &last);
}

/// Removes the draws that the kernel has not seen, though the code looks as if it drew: of a method that was not called. An edit that leaves
/// the code of the draws as it is does not begin them.
fn remove_unseen(cells: &mut [Cell], runs: &mut [Run], last: &[Option<usize>]) {
    for (cell, last) in cells.iter_mut().zip(last) {
        let Some(run) = last.map(|index| &runs[index]).filter(|run| run.can_tell()) else { continue };
        let before = |state: &Name| {
            if run.source == cell.source { cell.random.get(state) } else { run.random.get(state) }
        };
        let is_as_before =
            |state: &Name, it: &RandomUse| before(state).is_some_and(|before| before.code == it.code);
        let unseen: Vec<Name> = cell
            .random
            .iter()
            .filter(|(state, it)| !is_seen(&run.drew, state, it) && is_as_before(state, it))
            .map(|(state, _)| state.clone())
            .collect();
        for state in unseen {
            cell.random.remove(&state);
        }
    }
    for run in runs.iter_mut().filter(|run| run.can_tell()) {
        let Run { drew, random, .. } = run;
        random.retain(|state, it| is_seen(drew, state, it));
    }
}

/// Whether a run may have used a state in this way, by the report of its kernel.
fn is_seen(drew: &BTreeSet<Name>, state: &Name, it: &RandomUse) -> bool {
    it.seeds || drew.contains(state) || !REPORTED.contains(&state.as_str())
}

/// The runs of code that is in no cell any longer, or never was, and the code.
fn elsewhere(cells: &[Cell], runs: &[Run], ran: &impl Fn(u64) -> Option<String>) -> Vec<(usize, String)> {
    let present: HashSet<&CellId> = cells.iter().map(|cell| &cell.id).collect();
    let is_elsewhere = |run: &Run| run.cell.as_ref().is_none_or(|cell| !present.contains(cell));
    let runs = runs.iter().enumerate().filter(|(_, run)| is_elsewhere(run));
    runs.filter_map(|(index, run)| Some((index, ran(run.source)?))).collect()
}

/// Adds the draws that names do not show and that runs have made: from a state to which a cell above gives a seed. An edit of the cell
/// hardly ever ends them.
fn add_hidden(cells: &mut [Cell], runs: &mut [Run], last: &[Option<usize>]) {
    // Without a seed above, the numbers are others in each run, and a further draw explains nothing.
    let mut seeded = BTreeSet::<Name>::new();
    for (cell, last) in cells.iter_mut().zip(last) {
        if let Some(last) = last {
            let Run { drew, random, source, names, .. } = &mut runs[*last];
            for state in drew.iter().filter(|state| seeded.contains(*state)) {
                // The source says more: where it seeds, and what its draws depend on.
                cell.random.entry(state.clone()).or_insert_with(|| hidden(cell.source, &cell.names));
                random.entry(state.clone()).or_insert_with(|| hidden(*source, names));
            }
        }
        seeded.extend(cell.random.iter().filter(|(_, it)| it.seeds).map(|(state, _)| state.clone()));
    }
    let seen: BTreeSet<usize> = last.iter().copied().flatten().collect();
    for (_, run) in runs.iter_mut().enumerate().filter(|(index, _)| !seen.contains(index)) {
        for state in run.drew.iter().filter(|state| seeded.contains(*state)) {
            run.random.entry(state.clone()).or_insert_with(|| hidden(run.source, &run.names));
        }
    }
}

fn hidden(code: u64, names: &Names) -> RandomUse {
    let inputs = names.effects.uses.clone();
    RandomUse { draws: true, changes: true, seeds: false, code, inputs, is_hidden: true }
}
