//! What earlier servers have left, as the first reply of this one reports it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use place::{EarlierRuns, Leftovers, Place};
use tokio::sync::OnceCell;

/// What this server found at its first call, until it is reported to an agent.
#[derive(Default)]
pub(crate) struct LeftoverReport {
    found: OnceCell<Arc<Leftovers>>,
    is_reported: AtomicBool,
}

impl LeftoverReport {
    /// `None` if there is nothing to tell.
    pub(crate) async fn unreported(&self, places: &[Arc<dyn Place>]) -> Option<Arc<Leftovers>> {
        if self.is_reported() {
            return None;
        }
        let find = async {
            let mut all = Leftovers::default();
            for Leftovers { kernels, runs, warnings } in
                join_all(places.iter().filter_map(|it| it.earlier_runs()).map(EarlierRuns::leftovers)).await
            {
                all.kernels.extend(kernels);
                all.runs.extend(runs);
                all.warnings.extend(warnings);
            }
            Arc::new(all)
        };
        Some(self.found.get_or_init(|| find).await.clone())
    }

    pub(crate) fn is_reported(&self) -> bool {
        self.is_reported.load(Ordering::Relaxed)
    }

    /// `false` if it was reported before.
    pub(crate) fn report(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }
}
