//! A notebook and the operations that were made on it.

use bytes::Bytes;
use notebook::{CellType, Edit, NewCell, Notebook};

use crate::{Blobs, Conflict, Operation, OperationId, OperationKind, Plan, UndoScope, live, plan, record};

/// A notebook with its history.
pub(crate) struct Story {
    pub(crate) now: Notebook,
    pub(crate) operations: Vec<Operation>,
    pub(crate) blobs: Blobs,
}

impl Story {
    /// A notebook of code cells with these sources and the ids c0, c1, …
    pub(crate) fn new(sources: &[&str]) -> Self {
        let mut notebook = Notebook::new();
        for (index, source) in sources.iter().enumerate() {
            let id = format!("c{index}").into();
            let cell = NewCell { id, ..NewCell::new(CellType::Code, *source) };
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        Self::of(notebook.to_bytes())
    }

    pub(crate) fn of(file: Vec<u8>) -> Self {
        let now = Notebook::parse(Bytes::from(file)).unwrap();
        Self { now, operations: Vec::new(), blobs: Blobs::default() }
    }

    /// Makes an operation, as an agent does: it is written to the file, which is read again.
    pub(crate) fn make(&mut self, edits: &[Edit]) -> Operation {
        self.operate(edits, Operation::default())
    }

    fn operate(&mut self, edits: &[Edit], operation: Operation) -> Operation {
        let before = self.now.clone();
        self.change(edits);
        let recorded = record(&before, &self.now, edits);
        self.blobs.extend(recorded.blobs);
        let id = OperationId::new(self.operations.len() as u64 + 1);
        self.operations.push(Operation {
            id,
            cells: recorded.cells,
            metadata: recorded.metadata,
            ..operation
        });
        self.operations[self.operations.len() - 1].clone()
    }

    /// Changes the notebook as somebody else does.
    pub(crate) fn change(&mut self, edits: &[Edit]) {
        let mut changed = self.now.clone();
        for edit in edits {
            changed.apply(edit).unwrap();
        }
        let mut read = Notebook::parse(Bytes::from(changed.to_bytes())).unwrap();
        read.carry_ids(&changed);
        self.now = read;
    }

    pub(crate) fn plan(&self, operations: &[Operation]) -> Result<Plan, Vec<Conflict>> {
        plan(&self.now, operations, &|id| self.blobs.get(id))
    }

    /// Undoes these operations, newest first.
    pub(crate) fn undo(&mut self, operations: &[Operation]) -> Result<Operation, Vec<Conflict>> {
        let plan = self.plan(operations)?;
        let operations = operations.iter().map(|operation| operation.id).collect();
        let kind = OperationKind::Undo(UndoScope { operations, only: None });
        Ok(self.operate(&plan.edits, Operation { kind, ..Operation::default() }))
    }

    /// Undoes the last operation that can be undone.
    pub(crate) fn undo_last(&mut self) -> Result<Operation, Vec<Conflict>> {
        let last = live(&self.operations).into_iter().take(1).collect::<Vec<_>>();
        self.undo(&last)
    }

    pub(crate) fn bytes(&self) -> String {
        String::from_utf8(self.now.to_bytes()).unwrap()
    }
}
