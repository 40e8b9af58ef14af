//! What is known of the runs of cells that somebody has split, merged or duplicated since: where the code is what ran, it has run.

use std::collections::{BTreeSet, HashMap, HashSet};
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
    let (cells, given) = (present.cells, Vec::new());
    let mut carrier = Carrier { present, cells, runs, codes, now: instance, instance, given };
    if instance.is_some() {
        carrier.carry();
    }
    // After a restart, what ran before it may still be split or merged.
    let others = carrier.runs.iter().filter(|run| Some(run.instance) != instance);
    if let Some(other) = others.max_by_key(|run| run.order).map(|run| run.instance) {
        carrier.instance = Some(other);
        carrier.carry();
    }
    (carrier.runs, carrier.given)
}

impl History {
    /// Remembers the runs that the cells of `notebook` have from others: when one of these is changed or runs again, they still have run.
    pub fn carry(&mut self, notebook: &Notebook, language: &str, codes: &mut Codes, instance: Option<u64>) {
        let (cells, sources) = Cell::all_of(notebook, language);
        let names = |at: usize| Arc::new(with_stack(|| Names::in_language(&sources[at], language)));
        let present = Present { cells: &cells, sources: &sources, names: &names };
        let (mut runs, given) = carried(&present, self.runs().to_vec(), codes, instance);
        if given.is_empty() {
            return;
        }
        runs.sort_by_key(|run| run.order);
        self.replace(runs);
        codes.extend(given.into_iter().map(|at| (cells[at].source, code(&sources[at]))));
    }
}

/// Cells that are together what runs have run.
#[derive(Default)]
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
    now: Option<u64>,
    /// The one whose runs are looked at.
    instance: Option<u64>,
    given: Vec<usize>,
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

    /// Whether no run of the cell with its present source is known in this instance, and none in a later one.
    fn is_open(&self, position: usize, last: &HashMap<&CellId, &Run>) -> bool {
        let cell = &self.cells[position];
        let is_past = self.instance != self.now;
        let is_known = |run: &Run| {
            let (is_now, is_same) = (Some(run.instance) == self.now, run.source == cell.source);
            if is_past { is_now || is_same } else { is_now && is_same }
        };
        !cell.is_blank && !last.get(&cell.id).is_some_and(|run| is_known(run))
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
            let group = self.aligned(from, texts, order[start..].iter().take(MAX_PARTS).copied())?;
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
            let shown = self.cells[part.position].execution_count;
            let is_of_another =
                shown.is_some_and(|shown| runs.iter().any(|run| run.counts().any(|it| it == shown)));
            let is_unchanged = |name: &&Name| within.iter().all(|run| run.unchanged.contains(*name));
            let run = Run {
                has_failed: within.iter().any(|run| run.has_failed),
                execution_count: last.execution_count.filter(|count| !is_of_another || shown == Some(*count)),
                merged_counts: within.iter().flat_map(Run::counts).collect(),
                assigned: self.assigned(part.position, within),
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

    /// Cells and runs whose lines are the same up to the first place where one of each ends.
    fn aligned(
        &self,
        from: usize,
        texts: &HashMap<usize, Arc<str>>,
        runs: impl Iterator<Item = usize>,
    ) -> Option<Group> {
        let mut group = Group::default();
        let mut cells = (from..self.cells.len()).filter(|position| !self.cells[*position].is_blank);
        let mut cells = cells.by_ref().take(MAX_PARTS);
        // What is left of the cell and the run that the comparison is in.
        let (mut cell, mut position, mut begin) = ("", None, 0);
        // How many parts and runs there were when a cell and a run last ended together.
        let mut whole = None;
        'runs: for index in runs {
            let Some(text) = self.text(&self.runs[index]) else { break };
            group.runs.push(index);
            let mut run = &**text;
            while !run.is_empty() {
                if cell.is_empty() {
                    let next = cells.next().and_then(|next| Some((next, texts.get(&next)?)));
                    let Some((next, text)) = next else { break 'runs };
                    (cell, position, begin) = (&**text, Some(next), group.runs.len() - 1);
                }
                let (line, rest) = cell.split_once('\n').unwrap_or((cell, ""));
                let (other, after) = run.split_once('\n').unwrap_or((run, ""));
                if line != other {
                    break 'runs;
                }
                (cell, run) = (rest, after);
                if cell.is_empty() {
                    group.parts.push(Part { position: position?, runs: begin..group.runs.len() });
                }
            }
            // One cell and one run are no group, but a merge that was split again at its border starts with such a pair, and a cell may
            // have been split and merged back.
            let is_pair = group.parts.len() == 1 && group.runs.len() == 1;
            if cell.is_empty() && (!is_pair || self.is_merged_back(from, &self.runs[index])) {
                whole = Some((group.parts.len(), group.runs.len()));
            }
        }
        let (parts, runs) = whole?;
        group.parts.truncate(parts);
        group.runs.truncate(runs);
        Some(group)
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
            // What the cell has run since has replaced it.
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
                    .filter(|name| effects.defines.contains(*name) || effects.changes.contains(*name))
                    .cloned(),
            );
        }
        Some(Arc::new(assigned))
    }

    /// A copy of a cell, which shows what that shows, or the number of its run.
    fn duplicate(&mut self, position: usize) {
        let cell = &self.cells[position];
        let shows_the_same = |id: &CellId| {
            let shown = |cell: &Cell| (cell.execution_count, cell.has_outputs);
            self.cells.iter().any(|other| other.id == *id && *id != cell.id && shown(other) == shown(cell))
        };
        let is_original = |run: &&Run| {
            let has_number = run.execution_count.is_some() && run.execution_count == cell.execution_count;
            // What the cell itself has run since counts.
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
        self.given.push(position);
        for known in &mut self.runs {
            known.is_superseded |= known.cell.as_ref() == Some(&cell.id);
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

/// Adds the code of what has run, and removes what no run has any longer.
pub fn remember(codes: &mut Codes, source: &str, runs: &[Run]) {
    codes.insert(hash(source), code(source));
    if codes.len() > runs.len() * 2 + 16 {
        codes.retain(|known, _| runs.iter().any(|run| run.source == *known));
    }
}

#[cfg(test)]
mod tests;
