//! Reads the document as a notebook, and after a change only what changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use notebook::{Cell, Json, Notebook};
use yrs::{Any, ArrayRef, DeepObservable, ID, Map, MapRef, Observable, Out, ReadTxn};

use crate::elements::elements;
use crate::{read, read_cell};

/// The key under which we observe shared types, once each.
const OBSERVER: &str = "snapshot";

/// What changed since the last snapshot, as these bits. The observers of the document set them within a transaction.
pub(crate) type Changes = AtomicU8;

/// Cells were inserted or removed.
const ORDER: u8 = 1;
/// The notebook's metadata or version changed.
const META: u8 = 2;
/// The content of a cell changed.
const CELLS: u8 = 4;

/// Observes the roots of a new document; everything counts as changed.
pub(crate) fn observe(cells: &ArrayRef, meta: &MapRef) -> Arc<Changes> {
    let changes = Arc::new(Changes::new(ORDER | META | CELLS));
    let seen = Arc::clone(&changes);
    cells.observe(OBSERVER, move |_, _| set(&seen, ORDER));
    let seen = Arc::clone(&changes);
    meta.observe_deep(OBSERVER, move |_, _| set(&seen, META));
    changes
}

pub(crate) fn set(changes: &Changes, bits: u8) {
    changes.fetch_or(bits, Ordering::Relaxed);
}

/// Returns what is set and clears it.
pub(crate) fn take(changes: &Changes) -> u8 {
    changes.swap(0, Ordering::Relaxed)
}

/// What was read for the last snapshot.
#[derive(Default)]
pub(crate) struct Cache {
    cells: HashMap<ID, Cached>,
    order: Vec<ID>,
    metadata: Option<(Json, u64)>,
    notebook: Option<Notebook>,
}

struct Cached {
    map: MapRef,
    is_stale: Arc<AtomicBool>,
    cell: Option<Cell>,
}

impl Cache {
    pub(crate) fn notebook<T: ReadTxn>(
        &mut self,
        cells: &ArrayRef,
        meta: &MapRef,
        changes: &Arc<Changes>,
        txn: &T,
    ) -> Notebook {
        let seen = take(changes);
        if let Some(notebook) = self.notebook.as_ref().filter(|_| seen == 0) {
            return notebook.clone();
        }
        if seen & ORDER != 0 {
            self.read_order(cells, changes, txn);
        }
        if seen & META != 0 || self.metadata.is_none() {
            self.metadata = Some(metadata(meta, txn));
        }
        let mut read = Vec::with_capacity(self.order.len());
        for id in &self.order {
            read.extend(self.cells.get_mut(id).and_then(|cached| cached.cell(txn)));
        }
        let (metadata, minor) = self.metadata.clone().unwrap_or((Json::empty_object(), 5));
        let notebook = Notebook::from_cells(metadata, minor, read);
        self.notebook = Some(notebook.clone());
        notebook
    }

    /// Observes cells that were inserted since the last call, so that changes in them are noticed.
    pub(crate) fn observe_new<T: ReadTxn>(&mut self, cells: &ArrayRef, changes: &Arc<Changes>, txn: &T) {
        if changes.fetch_and(!ORDER, Ordering::Relaxed) & ORDER != 0 {
            self.read_order(cells, changes, txn);
            set(changes, CELLS);
        }
    }

    /// Reads the list of cells; known cells keep their cached content.
    fn read_order<T: ReadTxn>(&mut self, cells: &ArrayRef, changes: &Arc<Changes>, txn: &T) {
        let mut known = std::mem::take(&mut self.cells);
        self.order.clear();
        for cell in elements(cells, txn) {
            let Out::YMap(map) = cell else { continue };
            let Some(id) = read_cell::identity(map.as_ref()) else { continue };
            let cached = known.remove(&id).unwrap_or_else(|| Cached::new(map, changes));
            self.cells.insert(id, cached);
            self.order.push(id);
        }
    }
}

impl Cached {
    fn new(map: MapRef, changes: &Arc<Changes>) -> Self {
        let is_stale = Arc::new(AtomicBool::new(true));
        let (stale, changes) = (Arc::clone(&is_stale), Arc::clone(changes));
        map.observe_deep(OBSERVER, move |_, _| {
            stale.store(true, Ordering::Relaxed);
            set(&changes, CELLS);
        });
        Self { map, is_stale, cell: None }
    }

    fn cell<T: ReadTxn>(&mut self, txn: &T) -> Option<Cell> {
        if self.is_stale.swap(false, Ordering::Relaxed) {
            self.cell = read_cell::cell(&self.map, txn).and_then(|json| Cell::from_json(json).ok());
        }
        self.cell.clone()
    }
}

/// The notebook's metadata and the minor version of nbformat.
fn metadata<T: ReadTxn>(meta: &MapRef, txn: &T) -> (Json, u64) {
    let metadata = read::object_or_empty(meta.get(txn, "metadata"), txn);
    let minor = match meta.get(txn, "nbformat_minor") {
        Some(Out::Any(Any::Number(number))) => read::whole(number).and_then(|minor| minor.try_into().ok()),
        _ => None,
    };
    (metadata, minor.unwrap_or(5))
}
