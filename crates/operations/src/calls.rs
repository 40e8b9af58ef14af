//! The operations of one call of a tool, which the history shows as one.

use crate::{Operation, OperationKind};

/// Whether two operations are parts of one call. Checkpoints and undos are none.
pub fn of_same_call(one: &Operation, other: &Operation) -> bool {
    let is_change = |it: &Operation| matches!(it.kind, OperationKind::Change { .. });
    let are_changes = is_change(one) && is_change(other);
    one.id == other.id || (are_changes && !one.call.is_empty() && one.call == other.call)
}

/// The operations, in order, with those of a call as one: where the first of them is, under its id, and with what all of them did to
/// each cell. Checkpoints and undos stay apart.
pub fn by_call(operations: &[Operation]) -> Vec<Operation> {
    let mut calls: Vec<Operation> = Vec::with_capacity(operations.len());
    for operation in operations {
        let first = calls.iter_mut().rev().find(|call| of_same_call(call, operation));
        match first {
            Some(first) => add(first, operation),
            None => calls.push(operation.clone()),
        }
    }
    calls
}

/// Adds what a later operation did.
fn add(first: &mut Operation, later: &Operation) {
    for change in &later.cells {
        let Some(earlier) = first.cells.iter_mut().find(|earlier| earlier.id == change.id) else {
            first.cells.push(change.clone());
            continue;
        };
        if let (Some(first), Some(before)) = (&mut earlier.before, &change.before)
            && first.outputs.is_none()
        {
            first.outputs.clone_from(&before.outputs);
        }
        let earlier_after = earlier.after.as_ref().and_then(|state| state.outputs.clone());
        earlier.after.clone_from(&change.after);
        if let Some(after) = &mut earlier.after
            && after.outputs.is_none()
        {
            after.outputs = earlier_after;
        }
        earlier.moved |= change.moved;
    }
    for change in &later.metadata {
        match first.metadata.iter_mut().find(|earlier| earlier.name == change.name) {
            Some(earlier) => earlier.after.clone_from(&change.after),
            None => first.metadata.push(change.clone()),
        }
    }
    if let (OperationKind::Change { runs }, OperationKind::Change { runs: later }) =
        (&mut first.kind, &later.kind)
    {
        let new: Vec<_> = later.iter().filter(|run| !runs.contains(run)).cloned().collect();
        runs.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use notebook::{CellType, Edit, NewCell, Output};

    use super::*;
    use crate::testing::Story;
    use crate::{OperationId, UndoScope, summary};

    fn printed(text: &str) -> Arc<[Output]> {
        vec![Output::Stream { name: "stdout".to_owned(), text: text.into() }].into()
    }

    #[test]
    fn the_insertion_of_a_cell_and_its_run_are_one_operation() {
        let mut story = Story::new(&["one"]);
        let mut new = NewCell::new(CellType::Code, "1");
        new.id = "n".into();
        let of_call = |operation: Operation| Operation { call: "x".to_owned(), ..operation };
        let inserted = of_call(story.make(&[Edit::Insert { index: 1, cell: new }]));
        let other = story.make(&[Edit::SetSource { id: "c0".into(), source: "two".to_owned() }]);
        let outputs = printed("1");
        let run =
            of_call(story.make(&[Edit::SetOutputs { id: "n".into(), outputs, execution_count: Some(1) }]));
        let kind = OperationKind::Change { runs: vec!["r1".into()] };
        let run = Operation { kind: kind.clone(), ..run };
        let all = by_call(&[inserted.clone(), other.clone(), run]);
        assert_eq!((all.len(), all[0].id, all[1].id), (2, inserted.id, other.id));
        assert_eq!(summary(&all[0]), "inserted #1 (id n)");
        assert_eq!(all[0].kind, kind);
        assert_eq!(all[0].cells[0].after.as_ref().unwrap().outputs.as_ref().unwrap().items, 1);
    }

    #[test]
    fn operations_without_a_call_checkpoints_and_undos_stay_apart() {
        let of_call = |id, call: &str| Operation {
            id: OperationId::new(id),
            call: call.to_owned(),
            ..Operation::default()
        };
        let checkpoint = OperationKind::Checkpoint { name: "c".to_owned(), is_automatic: false };
        let undo = |id| OperationKind::Undo(UndoScope { operations: vec![OperationId::new(id)], only: None });
        let all = [
            of_call(1, ""),
            of_call(2, ""),
            Operation { kind: checkpoint, ..of_call(3, "x") },
            of_call(4, "x"),
            Operation { kind: undo(4), ..of_call(5, "y") },
            Operation { kind: undo(2), ..of_call(6, "y") },
        ];
        assert_eq!(by_call(&all).iter().map(|it| it.id.number()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }
}
