//! Runs of earlier servers that a kernel hands over.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use kernel::TimedEvents;
use kernel::log::RunRecord;

use crate::RunDetails;
use crate::executor::{ClientExecutor, Execution, Executor};

/// A run of an earlier server.
pub struct Orphan {
    pub details: RunDetails,
    pub requested_at: SystemTime,
    /// Its outputs are in its cell already.
    pub is_stored: bool,
    /// An earlier server has reported it: it can be found only by its id.
    pub is_acknowledged: bool,
    /// Its execution, with what happened so far and what happens from now on; `None` if its server ended before the kernel was asked.
    pub execution: Option<(Arc<dyn Execution>, TimedEvents)>,
    /// The connection over which its outcome is acknowledged.
    pub executor: Arc<dyn Executor>,
}

impl Orphan {
    /// The run with this record, whose paths `details` has as those of the place. Its execution, if it has one, has these events.
    pub fn new(
        record: RunRecord,
        details: RunDetails,
        events: Option<TimedEvents>,
        executor: Arc<ClientExecutor>,
    ) -> Self {
        let RunRecord { announcement, announced_at: requested_at, is_stored, is_acknowledged } = record;
        let execution = announcement.message.zip(events).map(|(id, events)| (executor.execution(id), events));
        Self { details, requested_at, is_stored, is_acknowledged, execution, executor }
    }
}

impl fmt::Debug for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orphan").field("details", &self.details).finish_non_exhaustive()
    }
}
