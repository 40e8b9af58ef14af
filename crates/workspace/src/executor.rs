//! What runs code and reports events: a connection to a kernel by messages, or anything else that can run a cell.

use std::sync::Arc;

use kernel::{Client, ExecutionId, Sink, Status};
use notebook::{CellId, Json};
use tokio::sync::watch;

use crate::RunId;
use crate::runs::RunNote;

/// Code to run.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub source: &'a str,
    /// The cell that it comes from; `None` for code that is in no notebook.
    pub cell: Option<&'a CellId>,
    /// What a later server should know about the run.
    pub note: &'a RunNote,
}

/// Runs code. [`Client`] does so by messages.
pub trait Executor: Send + Sync + 'static {
    /// Queues code behind what was queued before. Never waits. `sink` receives its events in order, of which exactly one
    /// is [`Event::Finished`](kernel::Event::Finished).
    fn execute(&self, code: Code<'_>, sink: Sink) -> Arc<dyn Execution>;

    /// The outcome of a run is stored where it belongs: no later server needs to be told of it.
    fn acknowledge(&self, _run: &RunId) {}

    /// What the kernel does. Another connection has another channel.
    fn status(&self) -> watch::Receiver<Status>;

    /// What a notebook keeps as `language_info`: an object.
    fn language_info(&self) -> Json;
}

/// Code that was handed to an [`Executor`]. Dropping it after the end has no effect.
pub trait Execution: Send + Sync {
    /// Sends the line of input that the code waits for. `false` if it does not wait for one.
    fn answer_input(&self, _line: String) -> bool {
        false
    }

    /// What an agent should know about how the code runs.
    fn notice(&self) -> Option<&str> {
        None
    }
}

impl Executor for Client {
    fn execute(&self, code: Code<'_>, sink: Sink) -> Arc<dyn Execution> {
        Arc::new(MessagingExecution { client: self.clone(), id: Self::execute(self, code.source, sink) })
    }

    fn status(&self) -> watch::Receiver<Status> {
        Self::status(self)
    }

    fn language_info(&self) -> Json {
        Self::language_info(self).clone()
    }
}

struct MessagingExecution {
    client: Client,
    id: ExecutionId,
}

impl Execution for MessagingExecution {
    fn answer_input(&self, line: String) -> bool {
        self.client.answer_input(&self.id, line)
    }
}
