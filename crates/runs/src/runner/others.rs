//! Whose runs a kernel works on.

use std::sync::Arc;

use place::{Error, ErrorKind, Kernel, NextStep, RunDetails, RunState};

use super::Runner;
use crate::run::Run;

/// A run that its kernel has not ended.
#[derive(Clone)]
pub struct PendingRun {
    pub details: RunDetails,
    /// `None` if another server has requested it.
    pub run: Option<Arc<Run>>,
}

impl Runner {
    /// The runs of a kernel that have not ended, whoever requested them: the one that it works on first, then in the order in which it
    /// gets them, as far as that is known.
    pub async fn pending(&self, kernel: &dyn Kernel) -> Vec<PendingRun> {
        let theirs = match kernel.earlier_runs() {
            Some(runs) => runs.runs_of_others().await,
            None => Vec::new(),
        };
        let theirs = theirs.into_iter().filter(|details| self.journal.run(&details.run).is_err());
        let is_here = |run: &Arc<Run>| {
            !run.state().is_over() && run.kernel().is_some_and(|its| its.id() == kernel.id())
        };
        let ours = self.journal.runs().into_iter().rev().filter(is_here);
        let (begun, waiting): (Vec<_>, Vec<_>) = ours
            .map(|run| PendingRun { details: run.details(), run: Some(run) })
            .partition(|pending| pending.run.as_ref().is_some_and(|run| run.state() != RunState::Queued));
        let theirs = theirs.map(|details| PendingRun { details, run: None });
        begun.into_iter().chain(theirs).chain(waiting).collect()
    }

    /// Fails if an interrupt for a run would stop that of another server, because no keeper tells the two apart.
    pub(super) async fn check_begun(&self, run: &Run, kernel: &dyn Kernel) -> Result<(), Error> {
        if run.state() != RunState::Queued || kernel.description().keeping.is_some() {
            return Ok(());
        }
        let pending = self.pending(kernel).await;
        let Some(PendingRun { details, run: None }) = pending.first() else { return Ok(()) };
        let cause = format!(
            "Run {} waits in the kernel behind run {} of another server, which an interrupt would stop.",
            run.id(),
            details.run
        );
        Err(Error::new(ErrorKind::Busy, cause, NextStep::WaitForRun))
    }
}
