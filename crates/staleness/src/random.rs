//! Random states among the facts.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use names::{Name, RandomUse, random_use};

use crate::facts::{Cell, Run};

/// What notebooks do with random states, as it was last read: that takes longer than all else.
#[derive(Debug, Default)]
pub struct RandomUses(Vec<(u64, Vec<BTreeMap<Name, RandomUse>>)>);

impl RandomUses {
    /// The cells as they are, and as they ran.
    const KEPT: usize = 2;

    fn of(&mut self, sources: &[&str]) -> Vec<BTreeMap<Name, RandomUse>> {
        let mut hash = DefaultHasher::new();
        sources.hash(&mut hash);
        let key = hash.finish();
        let known = self.0.iter().position(|(known, _)| *known == key).map(|index| self.0.remove(index));
        let known = known.unwrap_or_else(|| (key, random_use(sources)));
        self.0.truncate(Self::KEPT - 1);
        self.0.insert(0, known.clone());
        known.1
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
    for (cell, random) in cells.iter_mut().zip(uses.of(sources)) {
        cell.random = random;
    }
    let other = |cell: &Cell| {
        let mut known = runs.iter().enumerate().filter(|(_, run)| !run.is_superseded);
        let (index, run) =
            known.find(|(_, run)| run.cell.as_ref() == Some(&cell.id) && run.source != cell.source)?;
        Some((index, ran(run.source)?))
    };
    let others: Vec<_> = cells.iter().map(other).collect();
    if others.iter().all(Option::is_none) {
        return;
    }
    let before: Vec<&str> = others
        .iter()
        .zip(sources)
        .map(|(other, source)| other.as_ref().map_or(*source, |(_, before)| before.as_str()))
        .collect();
    for (other, random) in others.iter().zip(uses.of(&before)) {
        if let Some((index, _)) = other {
            runs[*index].random = random;
        }
    }
}
