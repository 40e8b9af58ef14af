//! Runs beyond the server that requested them: what a place tells later servers, and what it knows of earlier ones. Optional: a
//! place whose runs end with this program implements none of it.
//!
//! This, `kernel` and `leftovers` name each other in signatures: a kernel offers its earlier runs, and a leftover names its kernel.

use std::future::ready;

use futures_util::future::BoxFuture;
use notebook::CellId;

use crate::leftovers::{FoundRun, Leftovers};
use crate::orphan::Orphan;
use crate::{Future, NotebookPath, RunDetails, RunId};

/// The runs of earlier and later servers at a place.
pub trait EarlierRuns: Send + Sync {
    /// What earlier servers have left and no server uses now. Bounded, and starts nothing.
    fn leftovers(&self) -> BoxFuture<'_, Leftovers>;

    /// Lets a later server know of a run for which a kernel is being chosen, in case this program ends before. Never waits.
    fn announce(&self, _run: &RunDetails) {}

    /// Withdraws an announced run: the kernel has it now, or it will not run. Never waits.
    fn retract(&self, _run: &RunId) {}

    /// Finds a run of another server, which need not run any longer. Starts nothing.
    fn find(&self, _run: &RunId) -> Future<'_, Option<FoundRun>> {
        Box::pin(ready(Ok(None)))
    }

    /// Whether an earlier server or another program has a kernel for the notebook, which runs or has left what it did. Starts nothing.
    fn has_running_kernel(&self, _notebook: &NotebookPath) -> Future<'_, bool> {
        Box::pin(ready(Ok(false)))
    }

    /// The cells of a notebook that run or wait for their turn on kernels that other programs use, too, as far as that is known.
    /// Starts nothing.
    fn cells_to_run(&self, _notebook: &NotebookPath) -> Future<'_, Vec<CellId>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}

/// The runs of earlier and later servers on one kernel.
pub trait EarlierKernelRuns: Send + Sync {
    /// The runs that other servers have sent to the kernel and that have not ended, in the order of their requests, as far as that
    /// is known.
    fn runs_of_others(&self) -> BoxFuture<'_, Vec<RunDetails>> {
        Box::pin(ready(Vec::new()))
    }

    /// Takes over the runs of earlier servers that are not stored yet. Each is returned once.
    fn take_orphans(&self) -> BoxFuture<'_, Vec<Orphan>>;

    /// Lets a later server know of a run that waits for its turn, in case this program ends before. `false` if that is not possible
    /// before the kernel is ready. Never waits.
    fn announce(&self, run: &RunDetails) -> bool;

    /// An announced run will not be run. Never waits.
    fn retract(&self, run: &RunId);
}
