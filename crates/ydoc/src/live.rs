//! The Y document of one notebook.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use notebook::{CellId, Notebook};
use yrs::updates::decoder::Decode;
use yrs::updates::encoder::Encode;
use yrs::{ArrayRef, Doc, MapRef, OffsetKind, Options, ReadTxn, StateVector, Transact, Update};

use crate::snapshot::{self, Cache, Changes};
use crate::{YError, validate};

/// A notebook that others can edit at the same time. It has no connection: updates go in and out as bytes.
pub struct LiveNotebook {
    pub(crate) doc: Doc,
    pub(crate) cells: ArrayRef,
    pub(crate) meta: MapRef,
    pub(crate) state: MapRef,
    changes: Arc<Changes>,
    cache: Cache,
    /// Ids of cells that we moved; see `repair`.
    pub(crate) moved: HashSet<CellId>,
    /// Whether an update made the library panic.
    is_broken: bool,
}

impl Default for LiveNotebook {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveNotebook {
    /// An empty document with a new client id.
    pub fn new() -> Self {
        // Offsets in text are UTF-16 code units, as in JavaScript.
        let options = Options { offset_kind: OffsetKind::Utf16, ..Options::default() };
        let doc = Doc::with_options(options);
        let (cells, meta) = (doc.get_or_insert_array("cells"), doc.get_or_insert_map("meta"));
        let state = doc.get_or_insert_map("state");
        let changes = snapshot::observe(&cells, &meta);
        let (cache, moved) = (Cache::default(), HashSet::new());
        Self { doc, cells, meta, state, changes, cache, moved, is_broken: false }
    }

    /// The changes that this document has, as the payload of sync step 1: for each client, how many.
    ///
    /// Example: if client 7 has inserted `abc` and client 9 has deleted the `b`, the state vector is {7: 3}: each inserted
    /// character advances the clock of its client by one, and deletions do not count. A peer with {7: 1} is sent client 7's
    /// changes from clock 1 on, and the set of all deletions.
    pub fn state_vector(&self) -> Vec<u8> {
        self.doc.transact().state_vector().encode_v1()
    }

    /// The changes that a peer with this state vector does not have: the payload of sync step 2.
    pub fn update_since(&self, state_vector: &[u8]) -> Result<Vec<u8>, YError> {
        self.check()?;
        validate::check_state_vector(state_vector)?;
        let known = StateVector::decode_v1(state_vector).map_err(|error| malformed(&error))?;
        // The library panics where an update of a peer is pending that it cannot merge.
        catch_unwind(AssertUnwindSafe(|| self.doc.transact().encode_state_as_update_v1(&known)))
            .map_err(|_| validate::malformed("a pending update is inconsistent"))
    }

    /// Applies an update from others. Returns whether the notebook changed, and not only the document's state.
    ///
    /// A malformed update changes nothing.
    pub fn integrate(&mut self, update: &[u8]) -> Result<bool, YError> {
        self.check()?;
        validate::check_update(update)?;
        // The library panics on some updates that a peer can send.
        let update = catch_unwind(|| Update::decode_v1(update))
            .map_err(|_| validate::malformed("the update is inconsistent"))?
            .map_err(|error| malformed(&error))?;
        self.cache.observe_new(&self.cells, &self.changes, &self.doc.transact());
        let before = snapshot::take(&self.changes);
        let doc = &self.doc;
        let applied = catch_unwind(AssertUnwindSafe(|| {
            doc.transact_mut().apply_update(update).map_err(|error| malformed(&error))
        }));
        let is_changed = self.changes.load(Ordering::Relaxed) != 0;
        snapshot::set(&self.changes, before);
        let Ok(applied) = applied else {
            self.is_broken = true;
            return Err(YError::Broken);
        };
        applied.map(|()| is_changed)
    }

    /// Whether changes of others are pending because earlier ones have not arrived.
    pub fn is_incomplete(&self) -> bool {
        !self.is_broken && self.doc.transact().has_missing_updates()
    }

    /// The current notebook. Only cells that changed since the last call are read again.
    pub fn snapshot(&mut self) -> Result<Notebook, YError> {
        self.check()?;
        let txn = self.doc.transact();
        Ok(self.cache.notebook(&self.cells, &self.meta, &self.changes, &txn))
    }

    pub(crate) fn check(&self) -> Result<(), YError> {
        if self.is_broken { Err(YError::Broken) } else { Ok(()) }
    }
}

fn malformed(error: &impl ToString) -> YError {
    YError::Malformed(error.to_string())
}

#[cfg(test)]
mod tests;
