//! The paths without a prefix that an agent was shown. They must not mean other notebooks once it works elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::NotebookPath;
use crate::place::Place;

/// Paths without a prefix, with the place that each was shown for.
#[derive(Default)]
pub(crate) struct ShownPaths(Mutex<HashMap<NotebookPath, Arc<dyn Place>>>);

impl ShownPaths {
    /// Notes that `path` was shown. A path with a prefix means the same everywhere, and is not kept.
    pub(crate) fn note(&self, place: &Arc<dyn Place>, path: &NotebookPath) {
        if place.prefix().is_empty() {
            self.0.lock().insert(path.clone(), place.clone());
        }
    }

    /// The place for which `path` was shown, if that was not `current`. Two logins at one server are the same here.
    pub(crate) fn elsewhere(&self, path: &NotebookPath, current: &dyn Place) -> Option<Arc<dyn Place>> {
        self.0.lock().get(path).filter(|place| place.name() != current.name()).cloned()
    }
}
