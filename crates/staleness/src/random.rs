//! Random states among the facts.

use names::random_use;

use crate::facts::{Cell, Run};

/// Adds what the cells do with random states, and what they did when they ran. `sources` are those of the cells, and `ran` knows what
/// has run by its [`hash`](crate::hash).
pub fn add_random(
    cells: &mut [Cell],
    runs: &mut [Run],
    sources: &[&str],
    ran: impl Fn(u64) -> Option<String>,
) {
    for (cell, random) in cells.iter_mut().zip(random_use(sources)) {
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
    for (other, random) in others.iter().zip(random_use(&before)) {
        if let Some((index, _)) = other {
            runs[*index].random = random;
        }
    }
}
