//! What is known of the runs of cells that somebody has split, merged or duplicated since: where the code is what ran, it has run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use names::Name;
use notebook::CellId;

use crate::{Cell, Run, hash};

/// The codes of sources, by [`hash`].
pub type Codes = HashMap<u64, Arc<str>>;

/// A cell is taken to be split into so many, or merged from so many, at most.
const MAX_PARTS: usize = 16;
/// The numbers of runs are spread, so that the parts of one get numbers between.
const SPREAD: u64 = 1024;

/// A source without what a split or a merge changes: empty lines, and blanks at the ends of lines.
pub(crate) fn code(source: &str) -> Arc<str> {
    let lines: Vec<&str> = source.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n").into()
}

/// The runs, with those that cells have from others. `sources` are those of the cells, and `codes` has what ran.
pub(crate) fn carried(
    cells: &[Cell],
    sources: &[String],
    runs: Vec<Run>,
    codes: &Codes,
    instance: Option<u64>,
) -> Vec<Run> {
    let mut carrier = Carrier { cells, runs: runs.into_iter().map(spread).collect(), codes, instance };
    let open: Vec<usize> = (0..cells.len()).filter(|position| carrier.is_open(*position)).collect();
    if open.is_empty() || instance.is_none() {
        return carrier.runs;
    }
    let texts: HashMap<usize, Arc<str>> =
        open.iter().map(|position| (*position, code(&sources[*position]))).collect();
    let mut done = HashSet::new();
    for position in &open {
        if !done.contains(position) {
            done.extend(carrier.regroup(*position, &texts));
        }
    }
    for position in open.iter().filter(|position| !done.contains(position)) {
        carrier.duplicate(*position);
    }
    carrier.runs
}

fn spread(run: Run) -> Run {
    let earlier = run.earlier.iter().map(|order| order * SPREAD).collect();
    Run { order: run.order * SPREAD, first: run.first * SPREAD, earlier, ..run }
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
    cells: &'a [Cell],
    runs: Vec<Run>,
    codes: &'a Codes,
    instance: Option<u64>,
}

impl Carrier<'_> {
    fn last(&self, id: &CellId) -> Option<usize> {
        self.runs.iter().position(|run| !run.is_superseded && run.cell.as_ref() == Some(id))
    }

    /// Whether no run of the cell with its present source is known in the present instance.
    fn is_open(&self, position: usize) -> bool {
        let cell = &self.cells[position];
        let is_known = |run: &Run| run.source == cell.source && Some(run.instance) == self.instance;
        !cell.is_blank && !self.last(&cell.id).is_some_and(|last| is_known(&self.runs[last]))
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
        self.runs.retain(|run| !gone.contains(&run.order));
        for (number, part) in group.parts.iter().enumerate() {
            let within = &runs[part.runs.clone()];
            let Some(last) = within.last() else { continue };
            let later = group.parts[number + 1..].iter().filter(|later| later.runs.end == part.runs.end);
            let shown = self.cells[part.position].execution_count;
            let is_of_another = runs.iter().any(|run| run.execution_count == shown);
            let run = Run {
                has_failed: within.iter().any(|run| run.has_failed),
                execution_count: last.execution_count.filter(|count| !is_of_another || shown == Some(*count)),
                assigned: self.assigned(part.position, within),
                drew: within.iter().flat_map(|run| run.drew.iter().cloned()).collect(),
                ..last.clone()
            };
            self.add(part.position, &run, last.order - later.count() as u64);
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
            // One cell and one run are no group, but a merge that was split again at its border begins with such a pair.
            if cell.is_empty() && (group.parts.len() > 1 || group.runs.len() > 1) {
                whole = Some((group.parts.len(), group.runs.len()));
            }
        }
        let (parts, runs) = whole?;
        group.parts.truncate(parts);
        group.runs.truncate(runs);
        Some(group)
    }

    /// Whether the runs may be those of the cells: what ran each is gone or another now, or the cells are copies that show its number.
    fn can_have_run(&self, group: &Group, texts: &HashMap<usize, Arc<str>>) -> bool {
        let is_in = |id: &CellId| group.parts.iter().any(|part| self.cells[part.position].id == *id);
        let is_shown = |run: &Run| {
            run.execution_count.is_some()
                && group
                    .parts
                    .iter()
                    .any(|part| self.cells[part.position].execution_count == run.execution_count)
        };
        group.runs.iter().map(|index| &self.runs[*index]).all(|run| {
            let Some(id) = &run.cell else { return false };
            let is_gone = !self.cells.iter().any(|cell| cell.id == *id);
            let is_changed = !run.is_superseded && texts.keys().any(|part| self.cells[*part].id == *id);
            is_gone || is_in(id) || is_changed || is_shown(run)
        })
    }

    /// Whether a cell is there and has run as it is.
    fn is_unchanged(&self, id: &CellId, texts: &HashMap<usize, Arc<str>>) -> bool {
        let position = self.cells.iter().position(|cell| cell.id == *id);
        position.is_some_and(|position| !texts.contains_key(&position))
    }

    /// The names that a part of runs has assigned: those of the runs that it can assign.
    fn assigned(&self, position: usize, runs: &[Run]) -> Option<Arc<BTreeSet<Name>>> {
        let effects = &self.cells[position].names.effects;
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
        for known in &mut self.runs {
            known.is_superseded |= known.cell.as_ref() == Some(&cell.id);
        }
        self.runs.push(Run {
            cell: Some(cell.id.clone()),
            is_superseded: false,
            source: cell.source,
            names: cell.names.clone(),
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
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::SystemTime;

    use names::{Names, is_blank};

    use super::*;
    use crate::{Ended, Facts, History, State, states};

    /// The states of cells, given as id, source and number, after these have run.
    fn after(ran: &[(&str, &str)], cells: &[(&str, &str, Option<u64>)]) -> Vec<State> {
        let (mut history, mut codes) = (History::default(), Codes::new());
        for (count, (id, source)) in (1..).zip(ran) {
            history.add(Ended {
                cell: Some((*id).into()),
                source: hash(source),
                names: Arc::new(Names::of_cell(source)),
                instance: 1,
                ended_at: SystemTime::UNIX_EPOCH,
                has_failed: false,
                is_interrupted: false,
                assigned: None,
                drew: BTreeSet::new(),
                execution_count: Some(count),
            });
            remember(&mut codes, source, history.runs());
        }
        let cell = |(index, (id, source, execution_count)): (usize, &(&str, &str, Option<u64>))| Cell {
            index,
            id: (*id).into(),
            source: hash(source),
            names: Arc::new(Names::of_cell(source)),
            random: BTreeMap::new(),
            is_blank: is_blank(source),
            shows_figure: false,
            has_outputs: false,
            execution_count: *execution_count,
        };
        let sources: Vec<String> = cells.iter().map(|(_, source, _)| (*source).to_owned()).collect();
        let cells: Vec<Cell> = cells.iter().enumerate().map(cell).collect();
        let runs = carried(&cells, &sources, history.runs().to_vec(), &codes, Some(1));
        let clock = |_| String::new();
        let facts = Facts { cells: &cells, runs: &runs, instance: Some(1), clock: &clock };
        states(facts).into_iter().map(|state| state.state).collect()
    }

    use State::{Edited, InputChanged, NeverRun, OutputsFromElsewhere, UpToDate};

    #[test]
    fn the_parts_of_a_cell_that_was_split_have_run() {
        let ran = [("a", "x = f()\n\ny = x + 1\nprint(y)"), ("b", "y")];
        let parts = [("a", "x = f()", Some(1)), ("n", "y = x + 1\nprint(y)", None), ("b", "y", Some(2))];
        assert_eq!(after(&ran, &parts), [UpToDate; 3]);
        // The person's front end leaves the id to the last part.
        let parts = [
            ("n", "x = f()", None),
            ("m", "y = x + 1\n", None),
            ("a", "print(y)", Some(1)),
            ("b", "y", Some(2)),
        ];
        assert_eq!(after(&ran, &parts), [UpToDate; 4]);
        let changed = [("a", "x = f()", Some(1)), ("n", "y = x + 2\nprint(y)", None), ("b", "y", Some(2))];
        assert_eq!(after(&ran, &changed)[..2], [Edited, NeverRun]);
        let twice = [("a", "x = f()", Some(1)), ("b", "y", Some(2)), ("n", "y = x + 1\nprint(y)", None)];
        assert_eq!(after(&ran, &twice)[0], Edited, "they are not one after the other");
    }

    #[test]
    fn a_cell_that_was_merged_from_others_has_run() {
        let ran = [("a", "x = f()"), ("b", "y = x"), ("c", "print(y)")];
        let merged = |count| [("a", "x = f()\n\ny = x", count), ("c", "print(y)", Some(3))];
        assert_eq!(after(&ran, &merged(Some(1))), [UpToDate; 2]);
        assert_eq!(after(&ran, &merged(None)), [UpToDate; 2]);
        let whole = [("n", "x = f()\ny = x\nprint(y)", None)];
        assert_eq!(after(&ran, &whole), [UpToDate]);
        // Something ran between, or the others are still there.
        let between = [("a", "x = f()"), ("c", "print(y)"), ("b", "y = x")];
        assert_eq!(after(&between, &merged(Some(1)))[0], Edited);
        let there = [("a", "x = f()\ny = x", Some(1)), ("b", "y = x", Some(2)), ("c", "print(y)", Some(3))];
        assert_eq!(after(&ran, &there)[0], Edited);
    }

    #[test]
    fn what_was_split_and_then_merged_has_run() {
        let ran = [("a", "x = f()\ny = x"), ("b", "z = y"), ("c", "print(z)")];
        // The second part of `a` was merged with `b`.
        let moved = [("a", "x = f()", Some(1)), ("n", "y = x\nz = y", None), ("c", "print(z)", Some(3))];
        assert_eq!(after(&ran, &moved), [UpToDate; 3]);
        let kept = [("a", "x = f()", None), ("b", "y = x\n\nz = y", Some(2)), ("c", "print(z)", Some(3))];
        assert_eq!(after(&ran, &kept), [UpToDate; 3]);
        // Merged, and split elsewhere.
        let other = [("a", "x = f()", None), ("n", "y = x\nz = y\nprint(z)", None)];
        assert_eq!(after(&ran, &other), [UpToDate; 2]);
        let changed = [("a", "x = f()", Some(1)), ("n", "y = x\nz = 2", None), ("c", "print(z)", Some(3))];
        assert_eq!(after(&ran, &changed)[..2], [Edited, NeverRun]);
        // Merged, and split again where they were merged; the second part has the id of the first.
        let back = [("n", "x = f()\ny = x", None), ("a", "z = y", None), ("c", "print(z)", Some(3))];
        assert_eq!(after(&ran, &back), [UpToDate; 3]);
        let twice = [("m", "x = f()\ny = x", None), ("n", "z = y", None), ("a", "print(z)", None)];
        assert_eq!(after(&ran, &twice), [UpToDate; 3]);
        // Something ran between.
        let between = [("a", "x = f()\ny = x"), ("c", "print(z)"), ("b", "z = y")];
        assert_eq!(after(&between, &moved)[1], NeverRun);
        // A copy that was split.
        let ran = [("a", "x = f()\nprint(x)"), ("b", "y = 1")];
        let copy = [
            ("a", "x = f()\nprint(x)", Some(1)),
            ("d", "x = f()", None),
            ("n", "print(x)", Some(1)),
            ("b", "y = 1", Some(2)),
        ];
        assert_eq!(after(&ran, &copy), [UpToDate; 4]);
    }

    #[test]
    fn a_duplicate_with_the_number_of_its_original_has_run() {
        let ran = [("a", "x = f()"), ("b", "print(x)")];
        let copied =
            |count| [("a", "x = f()", Some(1)), ("b", "print(x)", Some(2)), ("n", "print(x)", count)];
        assert_eq!(after(&ran, &copied(Some(2)))[2], UpToDate);
        assert_eq!(after(&ran, &copied(Some(7)))[2], OutputsFromElsewhere);
        assert_eq!(after(&ran, &copied(None))[2], NeverRun);
        // A part of a cell that was split shows no number, and neither does its copy.
        let parts = [("a", "x = f()", None), ("m", "x = f()", None), ("n", "y = x", Some(1))];
        assert_eq!(after(&[("a", "x = f()\ny = x")], &parts), [UpToDate; 3]);
        // Cut and pasted.
        assert_eq!(after(&ran, &[("n", "x = f()", Some(1)), ("b", "print(x)", Some(2))]), [UpToDate; 2]);
    }

    #[test]
    fn an_old_source_that_is_back_has_not_run_last() {
        let ran = [("a", "x = 1"), ("b", "print(x)"), ("a", "x = 2")];
        let back = |count| after(&ran, &[("a", "x = 1", count), ("b", "print(x)", Some(2))]);
        assert_eq!(back(Some(1)), [OutputsFromElsewhere, UpToDate], "it shows what the old source gives");
        assert_eq!(back(None), [Edited, InputChanged]);
        let again = [("a", "x = 1"), ("b", "print(x)"), ("a", "x = 2"), ("b", "print(x)")];
        let cells = [("a", "x = 1", Some(1)), ("b", "print(x)", Some(4))];
        assert_eq!(after(&again, &cells), [OutputsFromElsewhere, InputChanged]);
    }

    #[test]
    fn what_changed_before_a_part_still_counts() {
        let ran = [("f", "n = f()"), ("a", "x = n\nprint(x)"), ("f", "n = f()")];
        let parts = [("f", "n = f()", Some(3)), ("a", "x = n", Some(2)), ("n", "print(x)", None)];
        assert_eq!(after(&ran, &parts), [UpToDate, InputChanged, InputChanged]);
    }
}
