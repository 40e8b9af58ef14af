//! Finds the edits that undo operations, or the cells that stand in the way.

use bytes::Bytes;
use notebook::{Cell, CellId, CellType, Edit, Json, NewCell, Notebook, Output, RUN_TIMES, diff};
use serde_json::Value;

use crate::BlobId;
use crate::operation::{CellChange, CellState, MetadataChange, Operation, OperationId, OutputsState};
use crate::record::{are_equivalent, digest, former_cell, json};

/// A plan to undo operations: all of it, or nothing is done.
#[derive(Debug, Clone)]
pub struct Plan {
    pub edits: Vec<Edit>,
    /// The notebook afterwards.
    pub after: Notebook,
    /// The cells that are touched, in the order in which they are.
    pub cells: Vec<CellId>,
    /// The cells whose former outputs were too large to be kept.
    pub without_outputs: Vec<CellId>,
}

/// An obstacle to undoing an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub operation: OperationId,
    pub part: Part,
    pub obstacle: Obstacle,
}

/// A part of a notebook that operations change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Cell(CellId),
    /// A member of its own metadata.
    Metadata(String),
}

impl Part {
    pub fn is_changed_by(&self, operation: &Operation) -> bool {
        match self {
            Self::Cell(id) => operation.cells.iter().any(|change| *id == change.id),
            Self::Metadata(name) => operation.metadata.iter().any(|change| *name == change.name),
        }
    }
}

/// The reason why it cannot be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It was changed since: the difference from what the operation left to what is there.
    Changed { diff: String },
    /// Its outputs are others.
    NewOutputs,
    /// It was moved since.
    Moved,
    /// It was deleted since.
    Deleted,
    /// A cell that the operation deleted is there again.
    Exists,
    /// Its former content is no longer kept.
    Forgotten,
}

/// The edits that restore the state before `operations`, which are given newest first.
///
/// They are undone one after the other, so that each is compared with what it left. A cell whose content, outputs or position
/// differ from the operation's result was changed by somebody else: a conflict, as with metadata.
pub fn plan(
    now: &Notebook,
    operations: &[Operation],
    content: &dyn Fn(&BlobId) -> Option<Bytes>,
) -> Result<Plan, Vec<Conflict>> {
    let mut steps = Steps {
        plan: Plan { edits: Vec::new(), after: now.clone(), cells: Vec::new(), without_outputs: Vec::new() },
        content,
    };
    let mut conflicts: Vec<Conflict> = Vec::new();
    for operation in operations {
        let refused = |part: &Part| conflicts.iter().any(|conflict| conflict.part == *part);
        // Changes behind an obstacle cannot be judged.
        let cell = |change: &&CellChange| !refused(&Part::Cell(change.id.clone()));
        let metadata = |change: &&MetadataChange| !refused(&Part::Metadata(change.name.clone()));
        let changes: Vec<_> = operation.cells.iter().filter(cell).collect();
        let metadata: Vec<_> = operation.metadata.iter().filter(metadata).collect();
        let found = steps.undo(&changes).into_iter().map(|(id, obstacle)| (Part::Cell(id), obstacle));
        let found: Vec<_> = found.chain(steps.undo_metadata(&metadata)).collect();
        let operation = operation.id;
        conflicts.extend(found.into_iter().map(|(part, obstacle)| Conflict { operation, part, obstacle }));
    }
    if conflicts.is_empty() { Ok(steps.plan) } else { Err(conflicts) }
}

struct Steps<'c> {
    plan: Plan,
    content: &'c dyn Fn(&BlobId) -> Option<Bytes>,
}

impl Steps<'_> {
    /// Undoes one operation on the cells that nothing stands in the way of, and returns the others.
    fn undo(&mut self, changes: &[&CellChange]) -> Vec<(CellId, Obstacle)> {
        let mut obstacles = Vec::new();
        let mut free = Vec::new();
        // All are judged before the first edit, which changes the neighbours by which moved cells are judged.
        for change in changes {
            match self.obstacle(change) {
                Some(obstacle) => obstacles.push((change.id.clone(), obstacle)),
                None => free.push(*change),
            }
        }
        // Inserted cells go first, so that the others find their neighbours.
        for change in free.iter().filter(|change| change.before.is_none()) {
            self.make(Edit::Delete { ids: vec![change.id.clone()] });
            self.touch(change);
        }
        // From the top, so that the cell before is there already.
        let mut rest: Vec<_> =
            free.iter().filter_map(|change| Some((change, change.before.as_ref()?))).collect();
        rest.sort_by_key(|(_, state)| state.index);
        // A cell that was neither moved nor deleted is where it belongs, so that others can be placed beside it.
        let is_placed = |change: &CellChange| change.moved || change.after.is_none();
        let mut waiting: Vec<&CellId> =
            rest.iter().filter(|(change, _)| is_placed(change)).map(|(change, _)| &change.id).collect();
        for (change, state) in rest {
            // From here on, the cells below can be placed beside it.
            waiting.retain(|id| **id != change.id);
            let id = change.id.clone();
            let is_back = if change.after.is_none() {
                self.insert(&id, state, &waiting)
            } else {
                if change.moved {
                    let index = index_of(&self.plan.after, &id, state, &waiting);
                    self.make(Edit::Move { id: id.clone(), index });
                }
                // If the operation only replaced outputs, the source that somebody else has written since stays.
                !change.changes_content() || self.set_content(&id, state)
            };
            // Last: a changed type has just dropped the outputs, and a new cell has none.
            let is_whole = is_back
                && state
                    .outputs
                    .as_ref()
                    .filter(|_| change.changes_outputs())
                    .is_none_or(|it| self.set_outputs(&id, it));
            if !is_whole {
                // The edits so far do no harm: an obstacle discards the whole plan.
                obstacles.push((id, Obstacle::Forgotten));
                continue;
            }
            self.touch(change);
        }
        obstacles
    }

    /// Undoes what one operation did to the notebook's metadata, where nobody else has changed it.
    fn undo_metadata(&mut self, changes: &[&MetadataChange]) -> Vec<(Part, Obstacle)> {
        let mut obstacles = Vec::new();
        for change in changes {
            let present = self.plan.after.metadata().member(&change.name);
            let left = json(change.after.as_ref());
            // By meaning: a program that only writes the file again has changed nothing.
            if are_equivalent(present.as_ref(), left.as_ref()) {
                let value = json(change.before.as_ref());
                self.make(Edit::SetMetadata { name: change.name.clone(), value });
            } else {
                let text = |json: Option<Json>| json.map(|json| json.compact() + "\n").unwrap_or_default();
                let diff = diff(&text(left), &text(present));
                obstacles.push((Part::Metadata(change.name.clone()), Obstacle::Changed { diff }));
            }
        }
        obstacles
    }

    /// The obstacle to bringing a cell back.
    fn obstacle(&self, change: &CellChange) -> Option<Obstacle> {
        let id = &change.id;
        let Some(left) = &change.after else {
            // Whatever it holds: a second cell of this id would be invalid, and replacing it would lose somebody's work.
            return self.plan.after.cell(id).is_some().then_some(Obstacle::Exists);
        };
        let Some((index, cell)) = self.plan.after.cell(id) else { return Some(Obstacle::Deleted) };
        // Somebody may have made it a text since, which takes no outputs.
        let takes_outputs = cell.is_code() || change.changes_content() || !change.changes_outputs();
        // If the undo leaves the content, somebody else may have edited it: outputs can return below another source.
        if !takes_outputs || change.changes_content() && !self.has_content(cell, left) {
            return Some(Obstacle::Changed { diff: self.difference(left, cell) });
        }
        // Undoing an insert removes the outputs with the cell: they must still be those that the operation left.
        let loses_outputs = change.changes_outputs() || self.loses_outputs(change);
        if let Some(outputs) = left.outputs.as_ref().filter(|_| loses_outputs)
            && digest(cell) != (outputs.digest.clone(), outputs.execution_count)
        {
            return Some(Obstacle::NewOutputs);
        }
        let is_there = |at: Option<usize>, neighbour: &Option<CellId>| {
            let found = at.and_then(|at| self.plan.after.cells().get(at)).map(Cell::id);
            // Both are `None` for a cell that was the first or the last and still is.
            found == neighbour.as_ref()
        };
        let has_stayed =
            is_there(index.checked_sub(1), &left.previous) || is_there(Some(index + 1), &left.next);
        // Only a move is about the position: the source of a cell can be restored wherever it is now.
        // One neighbour is enough: the other may have been inserted or deleted since, and an index shifts with every cell above.
        (change.moved && !has_stayed).then_some(Obstacle::Moved)
    }

    /// Whether the cell becomes one of another type that has no outputs, or goes.
    fn loses_outputs(&self, change: &CellChange) -> bool {
        let Some(was) = &change.before else { return true };
        self.read(&was.content).is_some_and(|content| content.cell_type != CellType::Code)
    }

    /// Whether a cell has the content of a state. A revision says nothing of attachments.
    fn has_content(&self, cell: &Cell, state: &CellState) -> bool {
        let content = self.read(&state.content);
        let is_same = cell.revision() == state.revision
            || content.as_ref().is_some_and(|content| differs_in_trust_alone(cell, content));
        // If the content is no longer stored, the revision alone must do: there are no attachments to compare.
        is_same && content.is_none_or(|content| are_same_files(cell.attachments(), content.attachments))
    }

    /// The difference from what an operation left to what is there.
    fn difference(&self, left: &CellState, cell: &Cell) -> String {
        let Some(content) = self.read(&left.content) else { return String::new() };
        let sources = diff(&content.source, &cell.source());
        // The rest is shown only where the sources do not explain the conflict.
        if sources.is_empty() {
            let rest = |cell_type: &CellType, metadata: Option<Json>, attachments: Option<Json>| {
                let metadata = metadata.unwrap_or(Json::empty_object());
                let mut text = format!("{cell_type} {}\n", metadata.compact());
                for (name, _) in attachments.iter().flat_map(Json::members) {
                    // Only the name: the content is usually an image in base64.
                    text.push_str(&format!("attachment {name}\n"));
                }
                text
            };
            return diff(
                &rest(&content.cell_type, content.metadata, content.attachments),
                &rest(cell.cell_type(), Some(cell.metadata()), cell.attachments()),
            );
        }
        sources
    }

    fn insert(&mut self, id: &CellId, state: &CellState, waiting: &[&CellId]) -> bool {
        let Some(cell) = self.read(&state.content) else { return false };
        let index = index_of(&self.plan.after, id, state, waiting);
        self.make(Edit::Insert { index, cell: NewCell { id: id.clone(), ..cell } })
    }

    /// Gives a cell the content that it had. Where edits cannot do so, as with attachments, the cell is inserted again.
    fn set_content(&mut self, id: &CellId, state: &CellState) -> bool {
        let Some(wanted) = self.read(&state.content) else { return false };
        let Some((index, cell)) = self.plan.after.cell(id).map(|(index, cell)| (index, cell.clone())) else {
            return false;
        };
        if *cell.cell_type() != wanted.cell_type {
            self.make(Edit::SetType { id: id.clone(), cell_type: wanted.cell_type.clone() });
        }
        if cell.source() != wanted.source {
            self.make(Edit::SetSource { id: id.clone(), source: wanted.source.clone() });
        }
        // No edit replaces the metadata of a cell as a whole.
        let patch = cell.metadata().patch_to(wanted.metadata.as_ref().unwrap_or(&Json::empty_object()));
        if patch.members().next().is_some() {
            self.make(Edit::MergeMetadata { id: id.clone(), patch });
        }
        if self.plan.after.cell(id).is_some_and(|(_, cell)| self.has_content(cell, state)) {
            return true;
        }
        // No edit sets attachments, so the cell is replaced by a new one, which must not lose its outputs.
        let new = NewCell { id: id.clone(), ..wanted };
        // If either is text, there is nothing to retain: former outputs come from the record.
        let has_outputs = new.cell_type == CellType::Code && cell.is_code();
        let outputs = Edit::SetOutputs {
            id: id.clone(),
            outputs: cell.outputs().into(),
            execution_count: cell.execution_count(),
        };
        self.make(Edit::Delete { ids: vec![id.clone()] })
            && self.make(Edit::Insert { index, cell: new })
            && (!has_outputs || self.make(outputs))
    }

    /// Gives a cell the outputs that it had, or none if they were too large to be kept.
    fn set_outputs(&mut self, id: &CellId, state: &OutputsState) -> bool {
        if self.plan.after.cell(id).is_none_or(|(_, cell)| !cell.is_code()) {
            return true;
        }
        let mut outputs = Vec::new();
        if state.is_retained {
            // Stored once and gone: without this refusal, the undo would lose them silently.
            let Some(list) = (self.content)(&state.digest).and_then(|text| Json::parse(text).ok()) else {
                return false;
            };
            outputs.extend(list.elements().map(|output| Output::from_json(&output)));
        } else if state.items > 0 {
            self.plan.without_outputs.push(id.clone());
        }
        let execution_count = state.execution_count;
        let edit = Edit::SetOutputs { id: id.clone(), outputs: outputs.into(), execution_count };
        (edit.is_applied(&self.plan.after) || self.make(edit)) && self.set_times(id, state)
    }

    /// Gives a cell the times of the run that its outputs are of.
    fn set_times(&mut self, id: &CellId, state: &OutputsState) -> bool {
        let cell = self.plan.after.cell(id);
        let present = cell.and_then(|(_, cell)| cell.metadata().member(RUN_TIMES));
        let times = json(state.times.as_ref());
        if are_equivalent(present.as_ref(), times.as_ref()) {
            return true;
        }
        let times = times.map_or(Value::Null, |times| times.to_value());
        let patch = Json::from_value(&serde_json::json!({ RUN_TIMES: times }));
        self.make(Edit::MergeMetadata { id: id.clone(), patch })
    }

    fn read(&self, id: &BlobId) -> Option<NewCell> {
        former_cell(id, self.content)
    }

    /// Adds an edit that is possible.
    fn make(&mut self, edit: Edit) -> bool {
        // Applied at once, because the next cells are judged and placed by the result.
        let is_possible = self.plan.after.apply(&edit).is_ok();
        if is_possible {
            self.plan.edits.push(edit);
        }
        is_possible
    }

    fn touch(&mut self, change: &CellChange) {
        // Several operations may change one cell, which is checked against the present notebook once.
        if !self.plan.cells.contains(&change.id) {
            self.plan.cells.push(change.id.clone());
        }
    }
}

/// Whether a cell has the content but for `metadata.trusted`, which a server adds to cells that it reads.
fn differs_in_trust_alone(cell: &Cell, content: &NewCell) -> bool {
    let rest = |metadata: &Json| {
        let mut rest = metadata.to_value();
        rest.as_object_mut().map(|members| members.remove("trusted"));
        rest
    };
    *cell.cell_type() == content.cell_type
        && cell.source() == content.source.as_str()
        && Some(rest(&cell.metadata())) == content.metadata.as_ref().map(rest)
}

/// Whether both have the same attachments. None is as good as an empty object, which front ends write.
fn are_same_files(one: Option<Json>, other: Option<Json>) -> bool {
    let [one, other] = [one, other].map(|files| files.filter(|json| json.members().next().is_some()));
    are_equivalent(one.as_ref(), other.as_ref())
}

/// The place of a cell that had this state: after the cell that was before it, else before the one that was after it, else
/// where it was. Cells are counted without the cell itself. Those that are `waiting` are not yet where they belong.
fn index_of(notebook: &Notebook, id: &CellId, state: &CellState, waiting: &[&CellId]) -> usize {
    let others = || notebook.cells().iter().filter(|cell| cell.id() != id);
    let position = |of: &Option<CellId>| {
        let of = of.as_ref().filter(|of| !waiting.contains(of))?;
        others().position(|cell| cell.id() == of)
    };
    match (position(&state.previous), position(&state.next)) {
        // If somebody has inserted a cell between the two neighbours, it comes below: a choice, but always the same.
        (Some(previous), _) => previous + 1,
        (None, Some(next)) => next,
        // Both are gone or not yet in place: the former index is the best guess, but may be beyond the end now.
        (None, None) => state.index.min(others().count()),
    }
}

#[cfg(test)]
mod tests;
