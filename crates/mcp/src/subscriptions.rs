//! Subscriptions to resources that others may change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use runs::{Changes, Run};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The least time between two notifications about one resource: a run may print thousands of lines.
const PAUSE: Duration = Duration::from_secs(1);

/// What is watched for an agent.
pub(crate) enum Watched {
    /// Changes of a notebook by others.
    Notebook(Changes),
    Run(Arc<Run>, watch::Receiver<u64>),
}

impl Watched {
    pub(crate) fn run(run: Arc<Run>) -> Self {
        let changes = run.changes();
        Self::Run(run, changes)
    }
}

/// Notifies of changes until there are no more, or until `notify` returns that nobody is there.
pub(crate) async fn notify<F: Future<Output = bool>>(mut watched: Watched, notify: impl Fn() -> F) {
    loop {
        let is_over = match &mut watched {
            Watched::Notebook(changes) => changes.changed().await.is_err(),
            // The sender lives in the run.
            Watched::Run(_run, changes) => changes.changed().await.is_err(),
        };
        if is_over || !notify().await {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// One agent's subscriptions, by address. Each token is cancelled at its end.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, CancellationToken>>);

impl Subscriptions {
    /// Notifies `peer` of changes until [`Subscriptions::end`] or until `watching` is cancelled. Replaces an earlier subscription to the
    /// same address.
    pub(crate) fn begin(
        &self,
        uri: String,
        watched: Watched,
        peer: Peer<RoleServer>,
        watching: CancellationToken,
        room: OwnedSemaphorePermit,
    ) {
        self.by_uri().retain(|_, watching| !watching.is_cancelled());
        if let Some(earlier) = self.by_uri().insert(uri.clone(), watching.clone()) {
            earlier.cancel();
        }
        let notifying = notify(watched, move || {
            let (peer, update) = (peer.clone(), ResourceUpdatedNotificationParam::new(uri.clone()));
            async move { peer.notify_resource_updated(update).await.is_ok() }
        });
        tokio::spawn(async move {
            let _room = room;
            let _ended = watching.clone().drop_guard();
            watching.run_until_cancelled_owned(notifying).await;
        });
    }

    /// Ends a subscription, if there is one.
    pub(crate) fn end(&self, uri: &str) {
        if let Some(watching) = self.by_uri().remove(uri) {
            watching.cancel();
        }
    }

    fn by_uri(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock()
    }
}
