//! The notebooks that are open, and the names that sessions gave them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use place::{Document, Kernel, NotebookPath, Place};
use runs::OpenNotebook;

/// A notebook: its place (by address in memory) and its path there. The same server under two logins is two places.
type Key = (usize, NotebookPath);

fn key(place: &Arc<dyn Place>, path: &NotebookPath) -> Key {
    (Arc::as_ptr(place).addr(), path.clone())
}

#[derive(Default)]
pub(crate) struct OpenNotebooks(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    opened: HashMap<Key, Arc<OpenNotebook>>,
    /// The notebooks to which sessions have given a name, for agents without sessions.
    names: HashMap<String, BTreeSet<Key>>,
}

impl OpenNotebooks {
    /// Sorted by path.
    pub(crate) fn all(&self) -> Vec<Arc<OpenNotebook>> {
        let mut opened: Vec<_> = self.0.lock().opened.values().cloned().collect();
        opened.sort_unstable_by(|one, other| one.path().cmp(other.path()));
        opened
    }

    /// The open notebook with this document, which is opened if it is not open yet.
    pub(crate) fn open(&self, place: Arc<dyn Place>, document: Arc<dyn Document>) -> Arc<OpenNotebook> {
        let key = key(&place, document.path());
        let mut inner = self.0.lock();
        let is_same = |opened: &Arc<OpenNotebook>| Arc::ptr_eq(opened.document(), &document);
        // It is another document if another file was moved to this path.
        if let Some(opened) = inner.opened.get(&key).filter(|opened| is_same(opened)) {
            return opened.clone();
        }
        let opened = Arc::new(OpenNotebook::new(place, document));
        inner.opened.insert(key, opened.clone());
        opened
    }

    /// The open notebook of `place` at `path`, as its document names it.
    pub(crate) fn find(&self, place: &Arc<dyn Place>, path: &NotebookPath) -> Option<Arc<OpenNotebook>> {
        self.0.lock().opened.get(&key(place, path)).cloned()
    }

    /// Closes a notebook, unless it was opened again before that.
    pub(crate) fn close(&self, notebook: &Arc<OpenNotebook>) {
        self.0.lock().opened.retain(|_, opened| !Arc::ptr_eq(opened, notebook));
    }

    pub(crate) fn remember_name(&self, name: &str, opened: &OpenNotebook) {
        let key = key(opened.place(), opened.path());
        self.0.lock().names.entry(name.to_owned()).or_default().insert(key);
    }

    pub(crate) fn forget_name(&self, name: &str, opened: &OpenNotebook) {
        if let Some(keys) = self.0.lock().names.get_mut(name) {
            keys.remove(&key(opened.place(), opened.path()));
        }
    }

    /// The one notebook of `place` to which sessions have given this name; `None` if there is none or more than one.
    pub(crate) fn named(&self, place: &Arc<dyn Place>, name: &str) -> Option<Arc<OpenNotebook>> {
        let (inner, here) = (self.0.lock(), Arc::as_ptr(place).addr());
        let mut keys = inner.names.get(name)?.iter().filter(|(place, _)| *place == here);
        match (keys.next(), keys.next()) {
            (Some(key), None) => inner.opened.get(key).cloned(),
            _ => None,
        }
    }

    /// Whether another open notebook runs on this kernel.
    pub(crate) fn is_shared(&self, kernel: &dyn Kernel, path: &NotebookPath) -> bool {
        let is_same =
            |opened: &Arc<OpenNotebook>| opened.kernel().is_some_and(|used| used.id() == kernel.id());
        self.all().iter().any(|opened| opened.path() != path && is_same(opened))
    }
}
