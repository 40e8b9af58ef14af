//! Describes a change by the states of its cells before and after.

use std::collections::HashSet;

use bytes::Bytes;
use notebook::{Cell, CellId, CellType, Edit, Json, NewCell, Notebook, RUN_TIMES, other_members};

use crate::blob::Naming;
use crate::operation::{CellChange, CellState, MetadataChange, Operation, OutputsState};
use crate::{BlobId, Blobs};

/// Outputs of a cell that are larger are not kept, in bytes.
const MAX_OUTPUTS: usize = 32 * 1024 * 1024;
/// The same for all cells of an operation: what does not fit beside the cells before it is not kept.
const MAX_ALL_OUTPUTS: usize = 64 * 1024 * 1024;

/// The changes of an operation, with the contents that they name.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    pub cells: Vec<CellChange>,
    pub metadata: Vec<MetadataChange>,
    pub blobs: Blobs,
}

/// The cells that edits touch, and how.
#[derive(Default)]
struct Touched {
    /// In the order of the edits.
    ids: Vec<CellId>,
    moved: HashSet<CellId>,
    outputs: HashSet<CellId>,
}

impl Touched {
    fn by(edits: &[Edit]) -> Self {
        let (mut touched, mut ids) = (Self::default(), HashSet::new());
        for edit in edits {
            for id in edit.cells() {
                if matches!(edit, Edit::Insert { .. } | Edit::Delete { .. } | Edit::Move { .. }) {
                    touched.moved.insert(id.clone());
                }
                // Those of a new cell, too: if it has others later, somebody has run it since.
                if !matches!(edit, Edit::SetSource { .. } | Edit::MergeMetadata { .. } | Edit::Move { .. }) {
                    touched.outputs.insert(id.clone());
                }
                if ids.insert(id.clone()) {
                    touched.ids.push(id.clone());
                }
            }
        }
        touched
    }
}

/// Describes what `edits` made of `before`. `after` is the notebook as it was read afterwards, perhaps with changes by others: a cell
/// counts as this change left it, so that an undo notices later changes by others.
pub fn record(before: &Notebook, after: &Notebook, edits: &[Edit]) -> Recorded {
    let touched = Touched::by(edits);
    let mut planned = before.clone();
    let is_planned = edits.iter().all(|edit| planned.apply(edit).is_ok());
    let (mut recorded, mut room) = (Recorded::default(), MAX_ALL_OUTPUTS);
    for id in &touched.ids {
        let was = before.cell(id);
        let left = if is_planned { planned.cell(id) } else { after.cell(id) };
        // An application may add metadata of its own to what it is given.
        let left = match (left, after.cell(id)) {
            (Some((_, planned)), Some(read)) if is_same(planned, read.1) => Some(read),
            (left, _) => left,
        };
        let has_outputs = touched.outputs.contains(id);
        let blobs = &mut recorded.blobs;
        let max = has_outputs.then_some(room.min(MAX_OUTPUTS));
        let before_state = was.map(|cell| state(before, cell, max, blobs));
        let outputs = before_state.as_ref().and_then(|state| state.outputs.as_ref());
        let content = outputs.filter(|it| it.is_retained).and_then(|it| blobs.get(&it.digest));
        room -= content.map_or(0, |content| content.len());
        let order = if after.cell(id).is_some() { after } else { &planned };
        let after_state = left.map(|(index, cell)| {
            let index = order.cell(id).map_or(index, |(index, _)| index);
            state(order, (index, cell), has_outputs.then_some(0), blobs)
        });
        let moved = match (&before_state, &after_state) {
            (Some(was), Some(is)) => {
                touched.moved.contains(id)
                    && (was.index, &was.previous, &was.next) != (is.index, &is.previous, &is.next)
            }
            _ => false,
        };
        let change = CellChange { id: id.clone(), before: before_state, after: after_state, moved };
        let is_change = change.moved || change.changes_content() || change.changes_outputs();
        // A cell that was inserted and deleted at once was never there.
        if is_change && change.state().is_some() {
            recorded.cells.push(change);
        }
    }
    recorded.cells.sort_by_key(|change| change.state().map(|state| state.index));
    let mut names: Vec<&str> = edits.iter().filter_map(metadata_name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let [was, is] = [before, after].map(|notebook| notebook.metadata().member(name));
        // Some applications cannot be given any.
        let is_made = !are_equivalent(was.as_ref(), is.as_ref());
        let left = if is_planned { planned.metadata().member(name) } else { is.clone() };
        recorded.metadata.extend(metadata_change(name, was.as_ref(), left.as_ref()).filter(|_| is_made));
    }
    recorded
}

fn metadata_name(edit: &Edit) -> Option<&str> {
    match edit {
        Edit::SetMetadata { name, .. } => Some(name),
        _ => None,
    }
}

fn metadata_change(name: &str, before: Option<&Json>, after: Option<&Json>) -> Option<MetadataChange> {
    let text = |json: Option<&Json>| json.map(Json::compact);
    let change = MetadataChange { name: name.to_owned(), before: text(before), after: text(after) };
    (!are_equivalent(before, after)).then_some(change)
}

/// Whether both mean the same, or there is neither.
pub(crate) fn are_equivalent(one: Option<&Json>, other: Option<&Json>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_equivalent(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The difference between the touched cells now and before `operations`, whoever changed them.
pub fn compare(operations: &[Operation], now: &Notebook) -> Recorded {
    let (mut recorded, mut ids) = (Recorded::default(), HashSet::new());
    for change in operations.iter().flat_map(|operation| &operation.cells) {
        if !ids.insert(&change.id) {
            continue;
        }
        let state = now.cell(&change.id).map(|cell| state(now, cell, None, &mut recorded.blobs));
        // Outputs are not compared: those of before may not be kept.
        let before = change.before.clone().map(|state| CellState { outputs: None, ..state });
        let change = CellChange { id: change.id.clone(), before, after: state, moved: false };
        if change.state().is_some() && change.changes_content() {
            recorded.cells.push(change);
        }
    }
    let mut names = HashSet::new();
    for change in operations.iter().flat_map(|operation| &operation.metadata) {
        if names.insert(&change.name) {
            let (before, now) = (json(change.before.as_ref()), now.metadata().member(&change.name));
            recorded.metadata.extend(metadata_change(&change.name, before.as_ref(), now.as_ref()));
        }
    }
    recorded.cells.sort_by_key(|change| change.state().map(|state| state.index));
    recorded
}

/// A cell as `content` has it, without its id. `None` if that is no longer stored.
pub(crate) fn former_cell(id: &BlobId, content: &dyn Fn(&BlobId) -> Option<Bytes>) -> Option<NewCell> {
    let json = Json::parse(content(id)?).ok()?;
    let text = |name: &str| json.member(name)?.text().map(String::from);
    Some(NewCell {
        metadata: json.member("metadata").filter(Json::is_object),
        attachments: json.member("attachments"),
        // Members that nbformat does not define may belong to other programs, and must survive a delete and its undo.
        others: other_members(&json),
        ..NewCell::new(CellType::from_name(&text("cell_type")?), text("source")?)
    })
}

/// The recorded value of a member of the metadata.
pub(crate) fn json(text: Option<&String>) -> Option<Json> {
    Json::parse(Bytes::from(text?.clone())).ok()
}

/// Whether both have the same type and source.
fn is_same(one: &Cell, other: &Cell) -> bool {
    one.cell_type() == other.cell_type() && one.source() == other.source()
}

/// The state of a cell. If there is a `max`, it has the outputs, whose content is kept up to so many bytes.
fn state(
    notebook: &Notebook,
    (index, cell): (usize, &Cell),
    max: Option<usize>,
    blobs: &mut Blobs,
) -> CellState {
    let neighbour = |at: Option<usize>| Some(notebook.cells().get(at?)?.id().clone());
    CellState {
        index,
        previous: neighbour(index.checked_sub(1)),
        next: neighbour(index.checked_add(1)),
        revision: cell.revision().to_owned(),
        content: blobs.add(cell.content_json().bytes()),
        outputs: max.map(|max| {
            let items = cell.output_count();
            let (digest, text) = outputs(cell, if items > 0 { max } else { 0 });
            let is_retained = text.map(|text| blobs.insert(digest.clone(), text)).is_some();
            let times = cell.metadata().member(RUN_TIMES).map(|times| times.compact());
            OutputsState { digest, execution_count: cell.execution_count(), items, times, is_retained }
        }),
    }
}

/// The digest that tells the outputs of a cell from others.
pub(crate) fn digest(cell: &Cell) -> (BlobId, Option<u64>) {
    (outputs_digest(cell), cell.execution_count())
}

/// The same without the execution count: as in [`OutputsState`].
pub fn outputs_digest(cell: &Cell) -> BlobId {
    outputs(cell, 0).0
}

/// The name of a cell's outputs, and their text if it has at most `max` bytes. Outputs of any size need no memory beyond that.
fn outputs(cell: &Cell, max: usize) -> (BlobId, Option<Bytes>) {
    let mut naming = Naming::up_to(max);
    // Naming does not fail.
    let _ = cell.write_outputs(&mut naming);
    naming.finish()
}
