//! The runs of cells that somebody has split, merged or duplicated since: where the code is what ran, it has run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use names::{Name, Names};
use notebook::{CellId, Notebook};
use syntax::with_stack;

use crate::history::History;
use crate::{Cell, Run, hash};

/// The codes of sources, by [`hash`].
pub type Codes = HashMap<u64, Arc<str>>;

/// A cell is taken to be split into so many, or merged from so many, at most.
const MAX_PARTS: usize = 16;

/// A source without what a split or a merge changes: empty lines, and blanks at the ends of lines.
pub(crate) fn code(source: &str) -> Arc<str> {
    let lines: Vec<&str> = source.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n").into()
}

/// The cells as they are now.
pub(crate) struct Present<'a> {
    pub(crate) cells: &'a [Cell],
    pub(crate) sources: &'a [String],
    /// The names of the cell at a position, which only a cell needs that has its run from another.
    pub(crate) names: &'a dyn Fn(usize) -> Arc<Names>,
}

/// The runs, with those that cells have from others, and the positions of these cells. `codes` has what ran.
pub(crate) fn carried(
    present: &Present<'_>,
    runs: Vec<Run>,
    codes: &Codes,
    instance: Option<u64>,
) -> (Vec<Run>, Vec<usize>) {
    let (cells, positions) = (present.cells, Vec::new());
    let mut carrier = Carrier { present, cells, runs, codes, instance, positions };
    carrier.carry();
    (carrier.runs, carrier.positions)
}

impl History {
    /// Remembers the runs that the cells of `notebook` have from others: when one of these is changed or runs again, they still have run.
    pub fn carry(&mut self, notebook: &Notebook, language: &str, codes: &mut Codes, instance: Option<u64>) {
        let (cells, sources) = Cell::all_of(notebook, language);
        let names = |at: usize| Arc::new(with_stack(|| Names::in_language(&sources[at], language)));
        let present = Present { cells: &cells, sources: &sources, names: &names };
        let (mut runs, positions) = carried(&present, self.runs().to_vec(), codes, instance);
        if positions.is_empty() {
            return;
        }
        runs.sort_by_key(|run| run.order);
        self.replace(runs);
        codes.extend(positions.into_iter().map(|at| (cells[at].source, code(&sources[at]))));
    }
}

/// Cells that are together what runs have run.
struct Group {
    parts: Vec<Part>,
    /// As indices, in the order in which they ran.
    runs: Vec<usize>,
}

/// A cell of a group, and the runs of the group that its lines are from.
struct Part {
    position: usize,
    runs: Range<usize>,
}

struct Carrier<'a> {
    present: &'a Present<'a>,
    cells: &'a [Cell],
    runs: Vec<Run>,
    codes: &'a Codes,
    instance: Option<u64>,
    /// Of the cells that have runs from others.
    positions: Vec<usize>,
}

impl Carrier<'_> {
    fn carry(&mut self) {
        let runs = self.runs.iter().filter(|run| !run.is_superseded);
        let last: HashMap<&CellId, &Run> =
            runs.rev().filter_map(|run| Some((run.cell.as_ref()?, run))).collect();
        let is_open = |position: &usize| self.is_open(*position, &last);
        let open: Vec<usize> = (0..self.cells.len()).filter(is_open).collect();
        let text = |position: &usize| (*position, code(&self.present.sources[*position]));
        let texts: HashMap<usize, Arc<str>> = open.iter().map(text).collect();
        let mut done = HashSet::new();
        for position in &open {
            if !done.contains(position) {
                done.extend(self.regroup(*position, &texts));
            }
        }
        for position in open.iter().filter(|position| !done.contains(position)) {
            self.duplicate(*position);
        }
    }

    /// Whether no run of the cell with its present source is known in this instance.
    fn is_open(&self, position: usize, last: &HashMap<&CellId, &Run>) -> bool {
        let cell = &self.cells[position];
        let is_of = |run: &&Run| Some(run.instance) == self.instance && run.source == cell.source;
        !cell.is_blank && !last.get(&cell.id).is_some_and(is_of)
    }

    fn text(&self, run: &Run) -> Option<&Arc<str>> {
        self.codes.get(&run.source).filter(|_| Some(run.instance) == self.instance)
    }

    /// The cells from `from` on that are together what runs directly after one another have run, though not each what one has. They have
    /// run, one after the other. A cell that was split, cells that were merged, and both in turn are such cells.
    fn regroup(&mut self, from: usize, texts: &HashMap<usize, Arc<str>>) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.runs.len()).filter(|index| self.text(&self.runs[*index]).is_some()).collect();
        order.sort_by_key(|index| self.runs[*index].order);
        let group = (0..order.len()).find_map(|start| {
            let group = self.aligned(from, texts, &order[start..])?;
            self.can_have_run(&group, texts).then_some(group)
        });
        let Some(group) = group else { return Vec::new() };
        let runs: Vec<Run> = group.runs.iter().map(|index| self.runs[*index].clone()).collect();
        // The original of a copy keeps its run.
        let is_original = |run: &Run| run.cell.as_ref().is_some_and(|id| self.is_unchanged(id, texts));
        let gone: Vec<u64> = runs.iter().filter(|run| !is_original(run)).map(|run| run.order).collect();
        let before: Vec<u64> = runs.iter().map(|run| self.last_before(run.order)).collect();
        self.runs.retain(|run| !gone.contains(&run.order));
        for (number, part) in group.parts.iter().enumerate() {
            let within = &runs[part.runs.clone()];
            let Some(last) = within.last() else { continue };
            let is_of_last = |other: &&Part| other.runs.end == part.runs.end;
            let later = group.parts[number + 1..].iter().filter(is_of_last).count() as u64;
            let count = group.parts.iter().filter(is_of_last).count() as u64;
            let count_of_cell = self.cells[part.position].execution_count;
            let is_of_another =
                count_of_cell.is_some_and(|count| runs.iter().any(|run| run.counts().any(|it| it == count)));
            let is_unchanged = |name: &&Name| within.iter().all(|run| run.unchanged.contains(*name));
            let run = Run {
                has_failed: within.iter().any(|run| run.has_failed),
                execution_count: last
                    .execution_count
                    .filter(|count| !is_of_another || count_of_cell == Some(*count)),
                merged_counts: within.iter().flat_map(Run::counts).collect(),
                assigned: self.assigned(part.position, within),
                changed: None,
                equal: BTreeMap::new(),
                unchanged: Arc::new(last.unchanged.iter().filter(is_unchanged).cloned().collect()),
                drew: within.iter().flat_map(|run| run.drew.iter().cloned()).collect(),
                random_states: within.iter().flat_map(|run| run.random_states.clone()).collect(),
                loaded: within.iter().flat_map(|run| run.loaded.clone()).collect(),
                // A merged cell shows some of the outputs of several, and a part of one all or none.
                outputs: last.outputs.filter(|_| within.len() == 1),
                ..last.clone()
            };
            let step = (last.order - before[part.runs.end - 1]) / count;
            self.add(part.position, &run, last.order - step * later);
        }
        group.parts.iter().map(|part| part.position).collect()
    }

    /// Cells and runs whose lines are the same up to the last place where one of each ends.
    fn aligned(&self, from: usize, texts: &HashMap<usize, Arc<str>>, runs: &[usize]) -> Option<Group> {
        let first = self.text(&self.runs[*runs.first()?])?;
        if first.lines().next() != texts.get(&from)?.lines().next() {
            return None;
        }
        let cells = (from..self.cells.len()).filter(|position| !self.cells[*position].is_blank);
        let cells = cells.take(MAX_PARTS).map_while(|at| Some((at, &**texts.get(&at)?)));
        let runs = runs.iter().take(MAX_PARTS).map_while(|at| Some((*at, &**self.text(&self.runs[*at])?)));
        let (cells, runs): (Vec<_>, Vec<_>) = (cells.collect(), runs.collect());
        let lines = cells.iter().flat_map(|(_, text)| text.lines());
        let lines = lines.zip(runs.iter().flat_map(|(_, text)| text.lines()));
        let same = lines.take_while(|(cell, run)| cell == run).count();
        let (of_cells, of_runs) = (ends(&cells), ends(&runs));
        let whole = |count: usize| {
            let end = of_cells[count - 1];
            let runs_count = of_runs.iter().position(|of_run| *of_run == end && end <= same)? + 1;
            // One cell and one run are no group, but a merge that was split again at its border starts with such a pair, and a cell may
            // have been split and merged back.
            let is_pair = count == 1 && runs_count == 1;
            (!is_pair || self.is_merged_back(from, &self.runs[runs[0].0])).then_some((count, runs_count))
        };
        let (count, runs_count) = (1..=cells.len()).rev().find_map(whole)?;
        let part = |at: usize| {
            let begin = at.checked_sub(1).map_or(0, |before| of_cells[before]);
            let first = of_runs.partition_point(|end| *end <= begin);
            let last = of_runs.partition_point(|end| *end < of_cells[at]);
            Part { position: cells[at].0, runs: first..last + 1 }
        };
        let runs = runs[..runs_count].iter().map(|(at, _)| *at).collect();
        Some(Group { parts: (0..count).map(part).collect(), runs })
    }

    /// Whether the cell is one that ran, with other empty lines, and shows as little as after a merge.
    fn is_merged_back(&self, position: usize, run: &Run) -> bool {
        let cell = &self.cells[position];
        let shows_nothing = cell.execution_count.is_none() && !cell.has_outputs;
        shows_nothing && !run.is_superseded && run.cell.as_ref() == Some(&cell.id)
    }

    /// Whether the runs may be those of the cells: what ran each is gone or another now, or the cells are copies that show its number.
    fn can_have_run(&self, group: &Group, texts: &HashMap<usize, Arc<str>>) -> bool {
        let is_in = |id: &CellId| group.parts.iter().any(|part| self.cells[part.position].id == *id);
        let is_shown_by_copy = |run: &Run| {
            let mut cells = group.parts.iter().map(|part| &self.cells[part.position]);
            let is_copy = |cell: &Cell| {
                cell.execution_count == run.execution_count && run.cell.as_ref() != Some(&cell.id)
            };
            run.execution_count.is_some() && cells.any(is_copy)
        };
        group.runs.iter().map(|index| &self.runs[*index]).all(|run| {
            let Some(id) = &run.cell else { return false };
            let is_gone = !self.cells.iter().any(|cell| cell.id == *id);
            let is_changed = texts.keys().any(|part| self.cells[*part].id == *id);
            // A later run of the cell has replaced it.
            !run.is_superseded && (is_gone || is_in(id) || is_changed) || is_shown_by_copy(run)
        })
    }

    /// Whether a cell is there and has run as it is.
    fn is_unchanged(&self, id: &CellId, texts: &HashMap<usize, Arc<str>>) -> bool {
        let position = self.cells.iter().position(|cell| cell.id == *id);
        position.is_some_and(|position| !texts.contains_key(&position))
    }

    /// The number of the run that was the last before this one; 0 if none was.
    fn last_before(&self, order: u64) -> u64 {
        self.runs.iter().filter_map(|run| run.last_before(order)).max().unwrap_or_default()
    }

    /// The names that a part of runs has assigned: those of the runs that it can assign.
    fn assigned(&self, position: usize, runs: &[Run]) -> Option<Arc<BTreeSet<Name>>> {
        let names = (self.present.names)(position);
        let effects = &names.effects;
        let mut assigned = BTreeSet::new();
        for run in runs {
            let names = run.assigned.as_ref()?.iter();
            assigned.extend(
                names
                    .filter(|name| effects.defines.contains(*name) || effects.changes.contains_key(*name))
                    .cloned(),
            );
        }
        Some(Arc::new(assigned))
    }

    /// A copy of a cell, which shows what that shows, or the number of its run.
    fn duplicate(&mut self, position: usize) {
        let cell = &self.cells[position];
        let shows_the_same = |id: &CellId| {
            let look = |cell: &Cell| (cell.execution_count, cell.has_outputs);
            self.cells.iter().any(|other| other.id == *id && *id != cell.id && look(other) == look(cell))
        };
        let is_original = |run: &&Run| {
            let has_number = run.execution_count.is_some() && run.execution_count == cell.execution_count;
            // A later run of the cell itself counts.
            let is_replaced = run.is_superseded && run.cell.as_ref() == Some(&cell.id);
            run.source == cell.source
                && Some(run.instance) == self.instance
                && !is_replaced
                && (has_number || (!run.is_superseded && run.cell.as_ref().is_some_and(shows_the_same)))
        };
        let original = self.runs.iter().find(is_original).cloned();
        if let Some(run) = original {
            self.add(position, &run, run.order);
        }
    }

    /// The cell has run as a part of `run`.
    fn add(&mut self, position: usize, run: &Run, order: u64) {
        let cell = &self.cells[position];
        self.positions.push(position);
        for other in &mut self.runs {
            other.is_superseded |= other.cell.as_ref() == Some(&cell.id);
        }
        self.runs.push(Run {
            cell: Some(cell.id.clone()),
            is_superseded: false,
            source: cell.source,
            names: (self.present.names)(position),
            order,
            first: order,
            earlier: Vec::new(),
            ..run.clone()
        });
    }
}

/// The number of lines up to the end of each text.
fn ends(texts: &[(usize, &str)]) -> Vec<usize> {
    let mut end = 0;
    let ends = texts.iter().map(|(_, text)| {
        end += text.lines().count();
        end
    });
    ends.collect()
}

/// Adds the code of what has run, and removes what no run has any longer.
pub fn remember(codes: &mut Codes, source: &str, runs: &[Run]) {
    codes.insert(hash(source), code(source));
    if codes.len() > runs.len() * 2 + 16 {
        codes.retain(|source, _| runs.iter().any(|run| run.source == *source));
    }
}

#[cfg(test)]
mod tests;
