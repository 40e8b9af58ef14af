//! The paths without a prefix that an agent was shown. They must not mean other notebooks once it works elsewhere.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use place::{NotebookPath, Place};

/// The maximum number of paths that are remembered. Then the one that was first shown longest ago is forgotten.
pub(crate) const MAX_PATHS: usize = 10_000;

/// Paths without a prefix, with the place that each was shown for.
#[derive(Default)]
pub(crate) struct ShownPaths(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    places: HashMap<NotebookPath, Arc<dyn Place>>,
    /// In the order in which they were first shown.
    order: VecDeque<NotebookPath>,
}

impl ShownPaths {
    /// Notes that `path` was shown. A path with a prefix means the same everywhere, and is not kept.
    pub(crate) fn note(&self, place: &Arc<dyn Place>, path: &NotebookPath) {
        if place.prefix().is_empty() {
            let mut paths = self.0.lock();
            if paths.places.insert(path.clone(), place.clone()).is_none() {
                paths.order.push_back(path.clone());
            }
            if paths.order.len() > MAX_PATHS
                && let Some(oldest) = paths.order.pop_front()
            {
                paths.places.remove(&oldest);
            }
        }
    }

    /// The place for which `path` was shown, if that was not `current`. Two logins at one server are the same here.
    pub(crate) fn elsewhere(&self, path: &NotebookPath, current: &dyn Place) -> Option<Arc<dyn Place>> {
        self.0.lock().places.get(path).filter(|place| place.name() != current.name()).cloned()
    }
}
