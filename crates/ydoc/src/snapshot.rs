//! Reads the document as a notebook, and after a change only what changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notebook::{Cell, Json, Notebook};
use yrs::{Any, ArrayRef, DeepObservable, ID, Map, MapRef, Observable, Out, ReadTxn};

use crate::elements::elements;
use crate::{read, read_cell};

/// The key under which we observe shared types, once each.
const OBSERVER: &str = "snapshot";

/// What changed since the last snapshot. The observers of the document set it within a transaction.
pub(crate) struct Changes {
    /// Whether cells were inserted or removed.
    order: AtomicBool,
    /// Whether the notebook's metadata or version changed.
    meta: AtomicBool,
    /// Whether the content of any cell changed.
    cells: AtomicBool,
}

impl Changes {
    /// Observes the roots of a new document; everything counts as changed.
    pub(crate) fn observe(cells: &ArrayRef, meta: &MapRef) -> Arc<Self> {
        let set = || AtomicBool::new(true);
        let changes = Arc::new(Self { order: set(), meta: set(), cells: set() });
        let seen = Arc::clone(&changes);
        cells.observe(OBSERVER, move |_, _| seen.order.store(true, Ordering::Relaxed));
        let seen = Arc::clone(&changes);
        meta.observe_deep(OBSERVER, move |_, _| seen.meta.store(true, Ordering::Relaxed));
        changes
    }

    /// Returns what is set and clears it.
    pub(crate) fn take(&self) -> TakenChanges {
        let take = |flag: &AtomicBool| flag.swap(false, Ordering::Relaxed);
        TakenChanges { order: take(&self.order), meta: take(&self.meta), cells: take(&self.cells) }
    }

    /// Sets again what was taken.
    pub(crate) fn add(&self, seen: &TakenChanges) {
        self.order.fetch_or(seen.order, Ordering::Relaxed);
        self.meta.fetch_or(seen.meta, Ordering::Relaxed);
        self.cells.fetch_or(seen.cells, Ordering::Relaxed);
    }

    pub(crate) fn is_any(&self) -> bool {
        [&self.order, &self.meta, &self.cells].into_iter().any(|flag| flag.load(Ordering::Relaxed))
    }
}

/// The content of [`Changes`].
pub(crate) struct TakenChanges {
    order: bool,
    meta: bool,
    cells: bool,
}

impl TakenChanges {
    fn is_any(&self) -> bool {
        self.order || self.meta || self.cells
    }
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
        let seen = changes.take();
        if let Some(notebook) = self.notebook.as_ref().filter(|_| !seen.is_any()) {
            return notebook.clone();
        }
        if seen.order {
            self.read_order(cells, changes, txn);
        }
        if seen.meta || self.metadata.is_none() {
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
        if changes.order.swap(false, Ordering::Relaxed) {
            self.read_order(cells, changes, txn);
            changes.cells.store(true, Ordering::Relaxed);
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
            changes.cells.store(true, Ordering::Relaxed);
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
    let mut out = Vec::new();
    let metadata = meta.get(txn, "metadata").unwrap_or_default();
    read::value(&metadata, txn, 1, &mut out);
    let is_object = out.first() == Some(&b'{');
    let json = Json::parse(out.into()).ok().filter(|_| is_object).unwrap_or(Json::empty_object());
    let minor = match meta.get(txn, "nbformat_minor") {
        Some(Out::Any(Any::Number(number))) => read::whole(number).and_then(|minor| minor.try_into().ok()),
        _ => None,
    };
    (json, minor.unwrap_or(5))
}
