//! What runs code and reports events: a connection to a kernel by messages, or anything else that can run a cell.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::log::Announcement;
use kernel::{Client, MemoryError, MessageId, Sink, Status};
use notebook::Json;
use serde_json::Value;
use tokio::sync::watch;

use crate::{RunDetails, RunId};

/// Runs code. [`ClientExecutor`] does so by messages.
pub trait Executor: Send + Sync + 'static {
    /// Queues the code of a run behind what was queued before. Never waits. `sink` receives its events in order, of which exactly one
    /// is [`Event::Finished`](kernel::Event::Finished).
    fn execute(&self, run: &RunDetails, sink: Sink) -> Arc<dyn Execution>;

    /// The outcome of a run is stored where it belongs: no later server needs to know it.
    fn acknowledge(&self, _run: &RunId) {}

    /// Lets the kernel know what is in memory before code runs, so that [`Execution::changes`] can tell what the code has changed.
    /// Returns after 50 ms at the latest.
    fn prepare_changes(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// What the kernel does. Another connection has another channel.
    fn status(&self) -> watch::Receiver<Status>;

    /// What a notebook keeps as `language_info`: an object.
    fn language_info(&self) -> Json;

    /// What a notebook keeps as `widgets` in its metadata if the states of all of the kernel's widgets are kept, as nbclient does.
    /// `None` if there are none.
    fn widget_state(&self) -> BoxFuture<'_, Option<Json>> {
        Box::pin(ready(None))
    }

    /// Asks about the variables in memory, as [`Client::ask_memory`] does.
    fn ask_memory<'a>(
        &'a self,
        _question: &'a Value,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Json, MemoryError>> {
        Box::pin(ready(Err(MemoryError::Unsupported)))
    }
}

/// Code that was handed to an [`Executor`]. Dropping it after the end has no effect.
pub trait Execution: Send + Sync {
    /// Sends the line of input that the code waits for. `false` if it does not wait for one.
    fn answer_input(&self, _line: String) -> bool {
        false
    }

    /// Interrupts this code and no other. `false` if only the kernel as a whole can be interrupted.
    fn interrupt(&self) -> bool {
        false
    }

    /// What an agent should know about how the code runs.
    fn notice(&self) -> Option<&str> {
        None
    }

    /// What the code has changed in the kernel's memory, once it is over and got this count. `None` if that cannot be known
    /// within 50 ms.
    fn changes(&self, _count: u64) -> BoxFuture<'_, Option<Json>> {
        Box::pin(ready(None))
    }
}

/// Logs the runs on one connection to a kernel, so that a later server can find them.
pub trait RunLogger: Send + Sync + 'static {
    /// What the log holds about a run.
    fn announcement(&self, run: &RunDetails) -> Announcement;

    /// See [`Executor::acknowledge`].
    fn acknowledge(&self, run: &RunId);

    /// Whether whatever keeps the log can interrupt one execution and no other.
    fn interrupts_alone(&self) -> bool {
        false
    }
}

/// Runs code by messages, over one connection to a kernel.
pub struct ClientExecutor {
    client: Client,
    /// `None` if runs end with this program.
    logger: Option<Arc<dyn RunLogger>>,
}

impl ClientExecutor {
    pub fn new(client: Client) -> Arc<Self> {
        Arc::new(Self { client, logger: None })
    }

    pub fn logged(client: Client, logger: Arc<dyn RunLogger>) -> Arc<Self> {
        Arc::new(Self { client, logger: Some(logger) })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Code whose request an earlier connection has sent.
    pub fn execution(&self, id: MessageId) -> Arc<dyn Execution> {
        let interrupts_alone = self.logger.as_ref().is_some_and(|logger| logger.interrupts_alone());
        Arc::new(ClientExecution { client: self.client.clone(), id, interrupts_alone })
    }
}

impl Executor for ClientExecutor {
    fn execute(&self, run: &RunDetails, sink: Sink) -> Arc<dyn Execution> {
        let announcement = self.logger.as_ref().map(|logger| logger.announcement(run));
        let id = self.client.execute_announced(&*run.source, announcement, sink);
        self.execution(id)
    }

    fn acknowledge(&self, run: &RunId) {
        if let Some(logger) = &self.logger {
            logger.acknowledge(run);
        }
    }

    fn prepare_changes(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.client.prepare_changes())
    }

    fn status(&self) -> watch::Receiver<Status> {
        self.client.status()
    }

    fn language_info(&self) -> Json {
        self.client.language_info().clone()
    }

    fn widget_state(&self) -> BoxFuture<'_, Option<Json>> {
        Box::pin(self.client.widget_state())
    }

    fn ask_memory<'a>(
        &'a self,
        question: &'a Value,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Json, MemoryError>> {
        Box::pin(self.client.ask_memory(question, limit))
    }
}

struct ClientExecution {
    client: Client,
    id: MessageId,
    interrupts_alone: bool,
}

impl Execution for ClientExecution {
    fn answer_input(&self, line: String) -> bool {
        self.client.answer_input(&self.id, line)
    }

    fn interrupt(&self) -> bool {
        if self.interrupts_alone {
            self.client.interrupt_execution(&self.id);
        }
        self.interrupts_alone
    }

    fn changes(&self, count: u64) -> BoxFuture<'_, Option<Json>> {
        Box::pin(self.client.changes(&self.id, count))
    }
}
