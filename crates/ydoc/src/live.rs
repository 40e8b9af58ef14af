//! The Y document of one notebook.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use notebook::Notebook;
use yrs::updates::decoder::Decode;
use yrs::updates::encoder::Encode;
use yrs::{ArrayRef, Doc, MapRef, OffsetKind, Options, ReadTxn, StateVector, Transact, Update};

use crate::snapshot::{Cache, Changes};
use crate::{YError, validate};

/// A notebook that others edit at the same time. It knows no connection: updates go in and out as bytes.
pub struct LiveNotebook {
    pub(crate) doc: Doc,
    pub(crate) cells: ArrayRef,
    pub(crate) meta: MapRef,
    pub(crate) state: MapRef,
    changes: Arc<Changes>,
    cache: Cache,
    /// Cells that we moved, by id; see `repair`.
    pub(crate) moved: HashSet<String>,
    /// Whether an update made the library fail.
    is_broken: bool,
}

impl Default for LiveNotebook {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveNotebook {
    /// A document without content, under a new client id.
    pub fn new() -> Self {
        // Offsets in text are those of JavaScript's strings, whatever the library's default.
        let options = Options { offset_kind: OffsetKind::Utf16, ..Options::default() };
        let doc = Doc::with_options(options);
        let (cells, meta) = (doc.get_or_insert_array("cells"), doc.get_or_insert_map("meta"));
        let state = doc.get_or_insert_map("state");
        let changes = Changes::observe(&cells, &meta);
        let (cache, moved) = (Cache::default(), HashSet::new());
        Self { doc, cells, meta, state, changes, cache, moved, is_broken: false }
    }

    /// What this document knows: the content of a sync step 1.
    pub fn state_vector(&self) -> Vec<u8> {
        self.doc.transact().state_vector().encode_v1()
    }

    /// What somebody with that state vector does not know: the content of a sync step 2.
    pub fn update_since(&self, state_vector: &[u8]) -> Result<Vec<u8>, YError> {
        self.check()?;
        validate::check_state_vector(state_vector)?;
        let known = StateVector::decode_v1(state_vector).map_err(|error| malformed(&error))?;
        Ok(self.doc.transact().encode_state_as_update_v1(&known))
    }

    /// Takes the changes of others. Tells whether the notebook, not only the document's state, changed.
    ///
    /// An update that nothing can be made of changes nothing.
    pub fn integrate(&mut self, update: &[u8]) -> Result<bool, YError> {
        self.check()?;
        validate::check_update(update)?;
        // The library asserts what a peer could violate.
        let update = catch_unwind(|| Update::decode_v1(update))
            .map_err(|_| validate::malformed("the update contradicts itself"))?
            .map_err(|error| malformed(&error))?;
        self.cache.observe_new(&self.cells, &self.changes, &self.doc.transact());
        let before = self.changes.take();
        let doc = &self.doc;
        let applied = catch_unwind(AssertUnwindSafe(|| {
            doc.transact_mut().apply_update(update).map_err(|error| malformed(&error))
        }));
        let is_changed = self.changes.is_any();
        self.changes.add(&before);
        let Ok(applied) = applied else {
            self.is_broken = true;
            return Err(YError::Broken);
        };
        applied.map(|()| is_changed)
    }

    /// Whether changes of others wait for earlier ones that did not arrive.
    pub fn is_incomplete(&self) -> bool {
        !self.is_broken && self.doc.transact().has_missing_updates()
    }

    /// The notebook as it is now. Reads again what changed since the last call, by whole cells.
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
