//! The libraries that draw a notebook's charts, which are read once.

use std::collections::HashMap;
use std::sync::Arc;

use html::Libraries;
use notebook::Notebook;
use parking_lot::Mutex;
use place::NotebookPath;

use crate::kernels::Machine;

/// The libraries that were found, by notebook.
pub struct Charts {
    machine: Arc<dyn Machine>,
    found: Mutex<HashMap<NotebookPath, Arc<Libraries>>>,
}

impl Charts {
    pub fn new(machine: Arc<dyn Machine>) -> Self {
        Self { machine, found: Mutex::default() }
    }

    /// The libraries for the charts of a notebook.
    pub(crate) async fn of(&self, path: &NotebookPath, notebook: &Notebook) -> Arc<Libraries> {
        if let Some(known) = self.known(path) {
            return known;
        }
        let found = Arc::new(self.machine.libraries(path, notebook).await);
        self.found.lock().insert(path.clone(), found.clone());
        found
    }

    /// The same, if they were read.
    pub(crate) fn known(&self, path: &NotebookPath) -> Option<Arc<Libraries>> {
        self.found.lock().get(path).cloned()
    }
}
