//! Finds the operations that can be undone.

use std::collections::HashSet;

use notebook::CellId;

use crate::{Operation, OperationId, OperationKind, UndoScope};

/// The start of a part of a notebook's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// After the latest checkpoint of this name.
    Checkpoint(String),
    /// With this operation.
    Operation(OperationId),
    /// At this time, in milliseconds since 1970.
    Time(u64),
}

impl Since {
    /// The operations from there on, `operations` being in order. `None` if there is no such checkpoint or operation.
    pub fn of<'o>(&self, operations: &'o [Operation]) -> Option<&'o [Operation]> {
        let from = match self {
            Self::Checkpoint(name) => 1 + operations.iter().rposition(|it| it.checkpoint() == Some(name))?,
            Self::Operation(id) => operations.iter().position(|it| it.id == *id)?,
            Self::Time(time) => operations.iter().position(|it| it.time >= *time).unwrap_or(operations.len()),
        };
        Some(&operations[from..])
    }
}

/// The operations after the one that made the notebook. Those before are about another file at the same path.
pub fn since_creation(operations: &[Operation]) -> &[Operation] {
    let made = operations.iter().rposition(|it| matches!(it.kind, OperationKind::Creation { .. }));
    &operations[made.map_or(0, |index| index + 1)..]
}

/// The operations that are not undone, newest first, each with the cells that are not undone. Checkpoints are left out, and
/// so are undos: one that was itself undone leaves what it had undone as it was.
///
/// Example: o1 and o2 are edits, o3 undoes o2, o4 undoes o3. o3 has no effect any longer, so o2 and o1 are live. If o4 undoes o3
/// in one cell only, o2 is live in that cell.
pub fn live(operations: &[Operation]) -> Vec<Operation> {
    let mut undone = Undone::default();
    let mut live = Vec::new();
    let operations = since_creation(operations);
    for operation in operations.iter().rev() {
        if undone.whole.contains(&operation.id) {
            continue;
        }
        match &operation.kind {
            OperationKind::Undo(scope) => {
                undone.add(operation.id, scope, operations);
                continue;
            }
            OperationKind::Change { .. } => {}
            // Nothing to undo.
            OperationKind::Checkpoint { .. }
            | OperationKind::Creation { .. }
            | OperationKind::OnRun { .. } => {
                continue;
            }
        }
        let mut left = operation.clone();
        left.cells.retain(|change| !undone.has_cell(operation.id, &change.id));
        if undone.metadata.contains(&operation.id) {
            left.metadata.clear();
        }
        if !left.is_empty() {
            live.push(left);
        }
    }
    live
}

/// The effects that later operations have undone, by the ids of operations.
#[derive(Default)]
struct Undone<'o> {
    whole: HashSet<OperationId>,
    cells: HashSet<(OperationId, &'o CellId)>,
    metadata: HashSet<OperationId>,
}

impl<'o> Undone<'o> {
    fn has_cell(&self, id: OperationId, cell: &'o CellId) -> bool {
        self.cells.contains(&(id, cell))
    }

    /// Adds what an undo does that was not itself undone as a whole.
    fn add(&mut self, undo: OperationId, scope: &UndoScope, operations: &'o [Operation]) {
        let is_whole = scope.only.is_none();
        // If a later undo has brought back some of its cells, its operations are judged by the cell.
        if is_whole && !self.cells.iter().any(|(id, _)| *id == undo) {
            self.whole.extend(&scope.operations);
            return;
        }
        for operation in operations.iter().filter(|operation| scope.operations.contains(&operation.id)) {
            let is_meant = |cell: &&CellId| scope.only.as_ref().is_none_or(|only| only.contains(cell));
            let cells = operation.cells.iter().map(|change| &change.id).filter(is_meant);
            let cells = cells.filter(|cell| !self.has_cell(undo, cell));
            let cells: Vec<_> = cells.map(|cell| (operation.id, cell)).collect();
            self.cells.extend(cells);
            if is_whole {
                self.metadata.insert(operation.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{CellChange, Creation};

    fn change(id: u64, cells: &[&str]) -> Operation {
        let cell = |id: &&str| CellChange { id: (*id).into(), before: None, after: None, moved: false };
        let (id, time) = (OperationId::new(id), id * 10);
        Operation { id, time, cells: cells.iter().map(cell).collect(), ..Operation::default() }
    }

    fn undo(id: u64, undoes: &[u64], only: Option<&[&str]>) -> Operation {
        let only = only.map(|only| only.iter().map(|cell| (*cell).into()).collect());
        let operations = undoes.iter().copied().map(OperationId::new).collect();
        Operation { kind: OperationKind::Undo(UndoScope { operations, only }), ..change(id, &["a"]) }
    }

    fn ids(operations: &[Operation]) -> Vec<u64> {
        live(operations).iter().map(|it| it.id.number()).collect()
    }

    #[test]
    fn an_undo_of_an_undo_brings_operations_back() {
        let mut all = vec![change(1, &["a"]), change(2, &["a"])];
        assert_eq!(ids(&all), [2, 1]);
        all.push(undo(3, &[2], None));
        assert_eq!(ids(&all), [1]);
        all.push(undo(4, &[3], None));
        assert_eq!(ids(&all), [2, 1]);
        all.push(undo(5, &[2, 1], None));
        assert_eq!(ids(&all), [0_u64; 0]);
        all.push(undo(6, &[5], None));
        assert_eq!(ids(&all), [2, 1]);
    }

    #[test]
    fn what_was_before_the_notebook_was_made_is_not_undone() {
        let kind = OperationKind::Creation { created: Creation::default() };
        let made = Operation { kind, ..change(2, &[]) };
        let all = [change(1, &["a"]), made, change(3, &["a"])];
        assert_eq!(ids(&all), [3]);
        assert_eq!(ids(&all[..2]), [0_u64; 0]);
    }

    #[test]
    fn cells_that_are_not_undone_stay() {
        let all = [change(1, &["a", "b"]), undo(2, &[1], Some(&["a"]))];
        let left = live(&all);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].cells[0].id, "b");
        let all = [change(1, &["a"]), undo(2, &[1], Some(&["a"]))];
        assert!(live(&all).is_empty());
    }

    #[test]
    fn cells_that_were_brought_back_are_live_again() {
        let cells = |operations: &[Operation]| -> Vec<(u64, Vec<String>)> {
            let cells = |it: &Operation| it.cells.iter().map(|change| change.id.to_string()).collect();
            live(operations).iter().map(|it| (it.id.number(), cells(it))).collect()
        };
        let both = || Operation { cells: change(2, &["a", "b"]).cells, ..undo(2, &[1], None) };
        let (a, b) = (|| "a".to_owned(), || "b".to_owned());
        // One cell of an undo of both, and then the other.
        let mut all = vec![change(1, &["a", "b"]), both(), undo(3, &[2], Some(&["a"]))];
        assert_eq!(cells(&all), [(1, vec![a()])]);
        all.push(undo(4, &[2], Some(&["b"])));
        assert_eq!(cells(&all), [(1, vec![a(), b()])]);
        all.push(undo(5, &[3], None));
        assert_eq!(cells(&all), [(1, vec![b()])]);
        // The only cell of an undo of one.
        let one = || undo(2, &[1], Some(&["a"]));
        assert_eq!(
            cells(&[change(1, &["a", "b"]), one(), undo(3, &[2], Some(&["a"]))]),
            [(1, vec![a(), b()])]
        );
        assert_eq!(cells(&[change(1, &["a", "b"]), one(), undo(3, &[2], None)]), [(1, vec![a(), b()])]);
    }

    #[test]
    fn metadata_stays_undone_if_only_cells_are_brought_back() {
        let metadata = crate::MetadataChange { name: "kernelspec".to_owned(), before: None, after: None };
        let first = Operation { metadata: vec![metadata], ..change(1, &["a"]) };
        let live = live(&[first, undo(2, &[1], None), undo(3, &[2], Some(&["a"]))]);
        assert_eq!((live[0].cells.len(), live[0].metadata.len()), (1, 0));
    }

    #[test]
    fn a_part_begins_at_an_operation_a_time_or_after_a_checkpoint() {
        let mut all = vec![change(1, &["a"]), change(2, &["a"]), change(3, &["a"])];
        all[1].kind = OperationKind::Checkpoint { name: "tidy".to_owned(), is_automatic: false };
        let of = |since: Since| {
            since.of(&all).map(|part| part.iter().map(|it| it.id.number()).collect::<Vec<_>>())
        };
        assert_eq!(of(Since::Checkpoint("tidy".to_owned())), Some(vec![3]));
        assert_eq!(of(Since::Checkpoint("none".to_owned())), None);
        assert_eq!(of(Since::Operation(OperationId::new(2))), Some(vec![2, 3]));
        assert_eq!(of(Since::Operation(OperationId::new(9))), None);
        assert_eq!(of(Since::Time(30)), Some(vec![3]));
        assert_eq!(of(Since::Time(31)), Some(vec![]));
    }
}
