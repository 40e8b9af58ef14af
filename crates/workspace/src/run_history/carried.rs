//! What is known of the runs of cells that somebody has split, merged or duplicated since: where the code is what ran, it has run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use notebook::CellId;
use staleness::{Cell, Run, hash};

/// The codes of sources, by [`hash`].
pub(crate) type Codes = HashMap<u64, Arc<str>>;

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
            done.extend(carrier.split(*position, &texts));
        }
    }
    for position in open.iter().filter(|position| !done.contains(position)) {
        if !carrier.duplicate(*position) {
            carrier.merge(*position, &texts[position]);
        }
    }
    carrier.runs
}

fn spread(run: Run) -> Run {
    let earlier = run.earlier.iter().map(|order| order * SPREAD).collect();
    Run { order: run.order * SPREAD, first: run.first * SPREAD, earlier, ..run }
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

    /// The cells from `from` on that are together what a cell has run that is another now. They have run, one after the other.
    fn split(&mut self, from: usize, texts: &HashMap<usize, Arc<str>>) -> Vec<usize> {
        let mut joined = String::new();
        for (index, position) in (from..self.cells.len()).take(MAX_PARTS).enumerate() {
            let Some(text) = texts.get(&position) else { break };
            if index > 0 {
                joined.push('\n');
            }
            joined.push_str(text);
            let parts = from..position + 1;
            // A copy of the first part may stand between them.
            let is_changed = |id: &CellId| texts.keys().any(|part| self.cells[*part].id == *id);
            let whole = self.runs.iter().position(|run| {
                !run.is_superseded
                    && self.text(run).is_some_and(|text| **text == *joined)
                    && run.cell.as_ref().is_some_and(is_changed)
            });
            let Some(whole) = whole.filter(|_| index > 0) else { continue };
            let run = self.runs.remove(whole);
            let count = parts.len() as u64;
            for (part, position) in (0..).zip(parts.clone()) {
                self.add(position, &run, run.order - (count - 1 - part));
            }
            return parts.collect();
        }
        Vec::new()
    }

    /// A copy of a cell, which shows what that shows, or the number of its run. Returns whether it is one.
    fn duplicate(&mut self, position: usize) -> bool {
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
        original.map(|run| self.add(position, &run, run.order)).is_some()
    }

    /// A cell that is what cells that are gone, and perhaps itself, have run one directly after the other.
    fn merge(&mut self, position: usize, text: &str) {
        let cell = &self.cells[position];
        let is_there = |id: &CellId| self.cells.iter().any(|cell| cell.id == *id);
        let mut order: Vec<usize> =
            (0..self.runs.len()).filter(|index| Some(self.runs[*index].instance) == self.instance).collect();
        order.sort_by_key(|index| self.runs[*index].order);
        for start in 0..order.len() {
            let (mut rest, mut parts) = (text, Vec::new());
            for index in order[start..].iter().take(MAX_PARTS) {
                let run = &self.runs[*index];
                let is_part = run.cell.as_ref().is_some_and(|id| *id == cell.id || !is_there(id));
                let Some(after) =
                    self.text(run).filter(|_| is_part).and_then(|text| rest.strip_prefix(&**text))
                else {
                    break;
                };
                parts.push(run.clone());
                match after.strip_prefix('\n') {
                    Some(after) => rest = after,
                    None if after.is_empty() && parts.len() > 1 => return self.add_merged(position, &parts),
                    None => break,
                }
            }
        }
    }

    fn add_merged(&mut self, position: usize, parts: &[Run]) {
        let Some(last) = parts.last() else { return };
        let shown = self.cells[position].execution_count;
        // The cell shows the number of one of them.
        let is_of_part = parts.iter().any(|part| part.execution_count == shown);
        let run = Run {
            has_failed: parts.iter().any(|part| part.has_failed),
            execution_count: last.execution_count.filter(|_| !is_of_part),
            ..last.clone()
        };
        self.runs.retain(|run| !parts.iter().any(|part| part.order == run.order));
        self.add(position, &run, last.order);
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
pub(super) fn remember(codes: &mut Codes, source: &str, runs: &[Run]) {
    codes.insert(hash(source), code(source));
    if codes.len() > runs.len() * 2 + 16 {
        codes.retain(|known, _| runs.iter().any(|run| run.source == *known));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use names::{Names, is_blank};
    use staleness::{Ended, Facts, History, State, states};

    use super::*;

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
