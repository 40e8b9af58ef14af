//! Subscriptions to resources that others may change.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer};
use runs::Changes;
use tokio_util::sync::CancellationToken;

/// One agent's subscriptions, by address.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, CancellationToken>>);

impl Subscriptions {
    /// Notifies `peer` of `changes` until [`Subscriptions::end`] or until `watching` is cancelled. Replaces an earlier
    /// subscription to the same address.
    pub(crate) fn begin(
        &self,
        uri: String,
        mut changes: Changes,
        peer: Peer<RoleServer>,
        watching: CancellationToken,
    ) {
        if let Some(earlier) = self.by_uri().insert(uri.clone(), watching.clone()) {
            earlier.cancel();
        }
        tokio::spawn(watching.run_until_cancelled_owned(async move {
            while changes.changed().await.is_ok() {
                let update = ResourceUpdatedNotificationParam::new(uri.clone());
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        }));
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
