//! Caches the kernelspecs of a server. They change when somebody installs one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use place::Error;
use rest::{KernelModel, Kernelspec, Kernelspecs};

use super::kernelspec_choice::{self, KernelspecQuery};
use crate::server_handle::ServerHandle;

/// How long the server's answer is used.
const FRESH: Duration = Duration::from_secs(60);

pub(crate) struct KernelspecCache {
    handle: Arc<ServerHandle>,
    known: Mutex<Option<Known>>,
    /// Held during a request: callers during that time use its answer.
    fetching: tokio::sync::Mutex<()>,
}

struct Known {
    specs: Arc<Kernelspecs>,
    fetched: Instant,
    /// The server does not list these, but runs kernels that were started from them.
    missing: HashSet<String>,
}

impl KernelspecCache {
    pub(crate) fn new(handle: Arc<ServerHandle>) -> Self {
        Self { handle, known: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// The kernelspecs, at most a minute old.
    pub(crate) async fn get(&self) -> Result<Arc<Kernelspecs>, Error> {
        self.fetched_since(Instant::now().checked_sub(FRESH)).await
    }

    /// The kernelspecs as fetched since `start`, or fetched now.
    async fn fetched_since(&self, start: Option<Instant>) -> Result<Arc<Kernelspecs>, Error> {
        let known = || {
            let known = self.known();
            let known = known.as_ref().filter(|known| start.is_none_or(|start| known.fetched >= start));
            known.map(|known| known.specs.clone())
        };
        if let Some(specs) = known() {
            return Ok(specs);
        }
        let _one_at_a_time = self.fetching.lock().await;
        if let Some(specs) = known() {
            return Ok(specs);
        }
        let fetched = Instant::now();
        let specs = self.handle.call(|server| async move { server.kernelspecs().await }).await?;
        let specs = Arc::new(specs);
        *self.known() = Some(Known { specs: specs.clone(), fetched, missing: HashSet::new() });
        Ok(specs)
    }

    /// Chooses a kernelspec. One that is not in the cache may have been installed a moment ago.
    pub(crate) async fn choose(&self, query: &KernelspecQuery<'_>) -> Result<Kernelspec, Error> {
        let start = Instant::now();
        let specs = self.get().await?;
        let title = self.handle.title();
        match kernelspec_choice::choose(&specs, query, &title) {
            Ok(spec) if query.is_exactly(spec) => Ok(spec.clone()),
            _ => {
                let specs = self.fetched_since(Some(start)).await?;
                kernelspec_choice::choose(&specs, query, &title).cloned()
            }
        }
    }

    /// Fetches them if that was never done. A failure is ignored: kernels can be listed without them.
    pub(crate) async fn prefetch(&self) {
        if self.known().is_none() {
            log_failure(self.get().await);
        }
    }

    /// Fetches them, unless that was done since `start`, if a kernel was started from one that is not in the cache.
    pub(crate) async fn fetch_missing(&self, models: &[KernelModel], start: Instant) {
        let unknown: Vec<_> = models.iter().filter(|model| !self.is_resolved(&model.name)).collect();
        if unknown.is_empty() {
            return;
        }
        log_failure(self.fetched_since(Some(start)).await);
        if let Some(known) = &mut *self.known() {
            let is_missing = |name: &&String| known.specs.specs.iter().all(|spec| spec.name != **name);
            let missing: Vec<_> =
                unknown.into_iter().map(|model| &model.name).filter(is_missing).cloned().collect();
            known.missing.extend(missing);
        }
    }

    /// The kernelspec of this name, if it is in the cache.
    pub(crate) fn named(&self, name: &str) -> Option<Kernelspec> {
        self.known().as_ref()?.specs.specs.iter().find(|spec| spec.name == name).cloned()
    }

    fn is_resolved(&self, name: &str) -> bool {
        self.named(name).is_some() || self.known().as_ref().is_some_and(|known| known.missing.contains(name))
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock()
    }
}

fn log_failure(specs: Result<Arc<Kernelspecs>, Error>) {
    if let Err(error) = specs {
        tracing::debug!(%error, "kernels are shown without their kernelspecs");
    }
}
