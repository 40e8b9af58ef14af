//! The kernelspecs of a server, which change when somebody installs one: asked for once in a while.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rest::{KernelModel, Kernelspec, Kernelspecs};
use workspace::Error;

use super::kernelspec_choice::{self, KernelspecQuery};
use crate::server_handle::ServerHandle;

/// How long what the server said is taken as true.
const FRESH: Duration = Duration::from_secs(60);

pub(crate) struct KernelspecCache {
    handle: Arc<ServerHandle>,
    known: Mutex<Option<Known>>,
    /// Held while the server is asked: who comes meanwhile takes that answer.
    asking: tokio::sync::Mutex<()>,
}

struct Known {
    specs: Arc<Kernelspecs>,
    asked: Instant,
    /// Kernels run that were started from these, which the server does not list.
    missing: HashSet<String>,
}

impl KernelspecCache {
    pub(crate) fn new(handle: Arc<ServerHandle>) -> Self {
        Self { handle, known: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// What the server can start, or could within the last minute.
    pub(crate) async fn get(&self) -> Result<Arc<Kernelspecs>, Error> {
        self.asked_since(Instant::now().checked_sub(FRESH)).await
    }

    /// Asks unless that was done since `start`.
    async fn asked_since(&self, start: Option<Instant>) -> Result<Arc<Kernelspecs>, Error> {
        let known = || {
            let known = self.known();
            let known = known.as_ref().filter(|known| start.is_none_or(|start| known.asked >= start));
            known.map(|known| known.specs.clone())
        };
        if let Some(specs) = known() {
            return Ok(specs);
        }
        let _one_at_a_time = self.asking.lock().await;
        if let Some(specs) = known() {
            return Ok(specs);
        }
        let asked = Instant::now();
        let specs = self.handle.call(None, |server| async move { server.kernelspecs().await }).await?;
        let specs = Arc::new(specs);
        *self.known() = Some(Known { specs: specs.clone(), asked, missing: HashSet::new() });
        Ok(specs)
    }

    /// The kernelspec for a query. One that is not known may have been installed a moment ago.
    pub(crate) async fn choose(&self, query: &KernelspecQuery<'_>) -> Result<Kernelspec, Error> {
        let start = Instant::now();
        let specs = self.get().await?;
        let title = self.handle.title();
        match kernelspec_choice::choose(&specs, query, &title) {
            Ok(spec) if query.is_met_by(spec) => Ok(spec.clone()),
            _ => {
                let specs = self.asked_since(Some(start)).await?;
                kernelspec_choice::choose(&specs, query, &title).cloned()
            }
        }
    }

    /// Asks if nothing is known yet. For whoever shows kernels, who can do without.
    pub(crate) async fn learn(&self) {
        if self.known().is_none() {
            told(self.get().await);
        }
    }

    /// Asks, unless that was done since `start`, if one of the kernels was started from a kernelspec that is not known.
    pub(crate) async fn learn_of(&self, models: &[KernelModel], start: Instant) {
        let unknown: Vec<_> = models.iter().filter(|model| !self.is_settled(&model.name)).collect();
        if unknown.is_empty() {
            return;
        }
        told(self.asked_since(Some(start)).await);
        if let Some(known) = &mut *self.known() {
            let is_missing = |name: &&String| known.specs.specs.iter().all(|spec| spec.name != **name);
            let missing: Vec<_> =
                unknown.into_iter().map(|model| &model.name).filter(is_missing).cloned().collect();
            known.missing.extend(missing);
        }
    }

    /// The kernelspec of this name, if it is known.
    pub(crate) fn named(&self, name: &str) -> Option<Kernelspec> {
        self.known().as_ref()?.specs.specs.iter().find(|spec| spec.name == name).cloned()
    }

    fn is_settled(&self, name: &str) -> bool {
        self.named(name).is_some() || self.known().as_ref().is_some_and(|known| known.missing.contains(name))
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock()
    }
}

fn told(specs: Result<Arc<Kernelspecs>, Error>) {
    if let Err(error) = specs {
        tracing::debug!(%error, "kernels are shown without their kernelspecs");
    }
}
