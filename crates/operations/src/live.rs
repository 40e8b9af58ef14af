//! Which operations can be undone.

use std::collections::HashSet;

use crate::Operation;

/// Where a part of a notebook's history begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// After the latest checkpoint of this name.
    Checkpoint(String),
    /// With this operation.
    Operation(u64),
    /// At this time, in milliseconds since 1970.
    Time(u64),
}

impl Since {
    /// The operations from there on, `operations` being in order. `None` if there is no such checkpoint or operation.
    pub fn of<'o>(&self, operations: &'o [Operation]) -> Option<&'o [Operation]> {
        let from = match self {
            Self::Checkpoint(name) => {
                1 + operations.iter().rposition(|it| it.checkpoint.as_ref() == Some(name))?
            }
            Self::Operation(id) => operations.iter().position(|it| it.id == *id)?,
            Self::Time(time) => operations.iter().position(|it| it.time >= *time).unwrap_or(operations.len()),
        };
        Some(&operations[from..])
    }
}

/// The operations after the one that made the notebook. Those before are about another file at the same path.
pub fn since_creation(operations: &[Operation]) -> &[Operation] {
    let made = operations.iter().rposition(|operation| operation.created.is_some());
    &operations[made.map_or(0, |index| index + 1)..]
}

/// The operations that are not undone, newest first, each with the cells that are not undone. Checkpoints are left out, and
/// so are undos: one that was itself undone leaves what it had undone as it was.
///
/// Example: o1 and o2 are edits, o3 undoes o2, o4 undoes o3. o3 has no effect any longer, so o2 and o1 are live.
pub fn live(operations: &[Operation]) -> Vec<Operation> {
    let (mut undone, mut cells_undone) = (HashSet::new(), HashSet::<(u64, &str)>::new());
    let mut live = Vec::new();
    for operation in since_creation(operations).iter().rev() {
        if undone.contains(&operation.id) || operation.checkpoint.is_some() {
            continue;
        }
        if operation.is_undo() {
            match &operation.only {
                None => undone.extend(operation.undoes.iter().copied()),
                Some(only) => cells_undone.extend(
                    operation.undoes.iter().flat_map(|id| only.iter().map(move |cell| (*id, cell.as_str()))),
                ),
            }
            continue;
        }
        let mut left = operation.clone();
        left.cells.retain(|change| !cells_undone.contains(&(operation.id, change.id.as_str())));
        if !left.is_empty() {
            live.push(left);
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{CellChange, Creation};

    fn change(id: u64, cells: &[&str]) -> Operation {
        let cell = |id: &&str| CellChange { id: (*id).to_owned(), before: None, after: None, moved: false };
        Operation { id, time: id * 10, cells: cells.iter().map(cell).collect(), ..Operation::default() }
    }

    fn undo(id: u64, undoes: &[u64], only: Option<&[&str]>) -> Operation {
        let only = only.map(|only| only.iter().map(|cell| (*cell).to_owned()).collect());
        Operation { undoes: undoes.to_vec(), only, ..change(id, &["a"]) }
    }

    fn ids(operations: &[Operation]) -> Vec<u64> {
        live(operations).iter().map(|it| it.id).collect()
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
        let made = Operation { id: 2, created: Some(Creation::default()), ..Operation::default() };
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
    fn a_part_begins_at_an_operation_a_time_or_after_a_checkpoint() {
        let mut all = vec![change(1, &["a"]), change(2, &["a"]), change(3, &["a"])];
        all[1].checkpoint = Some("tidy".to_owned());
        let of = |since: Since| since.of(&all).map(|part| part.iter().map(|it| it.id).collect::<Vec<_>>());
        assert_eq!(of(Since::Checkpoint("tidy".to_owned())), Some(vec![3]));
        assert_eq!(of(Since::Checkpoint("none".to_owned())), None);
        assert_eq!(of(Since::Operation(2)), Some(vec![2, 3]));
        assert_eq!(of(Since::Operation(9)), None);
        assert_eq!(of(Since::Time(30)), Some(vec![3]));
        assert_eq!(of(Since::Time(31)), Some(vec![]));
    }
}
