//! Runs of earlier servers that a kernel hands over.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use kernel::Event;
use tokio::sync::mpsc;

use crate::RunDetails;
use crate::executor::{Execution, Executor};

/// A run of an earlier server.
pub struct Orphan {
    pub details: RunDetails,
    pub requested_at: SystemTime,
    /// Its outputs are in its cell already.
    pub is_stored: bool,
    /// An earlier server has reported it: it can be found only by its id.
    pub is_acknowledged: bool,
    /// `None` if its server ended before the kernel was asked.
    pub execution: Option<OrphanedExecution>,
    /// The connection over which its outcome is acknowledged.
    pub executor: Arc<dyn Executor>,
}

/// The execution of a run of an earlier server.
pub struct OrphanedExecution {
    pub execution: Arc<dyn Execution>,
    /// What happened so far, and what happens from now on, with the time of each.
    pub events: mpsc::UnboundedReceiver<(SystemTime, Event)>,
}

impl fmt::Debug for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orphan").field("details", &self.details).finish_non_exhaustive()
    }
}
