//! Caches the kernelspecs of a server. They change when somebody installs one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
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
            let known = self.known.lock();
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
        *self.known.lock() = Some(Known { specs: specs.clone(), fetched });
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

    /// Fetches them, unless that was done since `start`, if a kernel was started from one that is not in the cache. A failure is
    /// ignored: kernels can be listed without them.
    pub(crate) async fn fetch_missing(&self, models: &[KernelModel], start: Instant) {
        if models.iter().all(|model| self.named(&model.name).is_some()) {
            return;
        }
        if let Err(error) = self.fetched_since(Some(start)).await {
            tracing::debug!(%error, "kernels are shown without their kernelspecs");
        }
    }

    /// The kernelspec of this name, if it is in the cache.
    pub(crate) fn named(&self, name: &str) -> Option<Kernelspec> {
        self.known.lock().as_ref()?.specs.specs.iter().find(|spec| spec.name == name).cloned()
    }
}
