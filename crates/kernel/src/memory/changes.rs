//! What an execution has changed in the kernel's memory, from a kernel with the handler.

use std::time::Duration;

use notebook::Json;
use serde_json::{Value, json};

use super::{Handler, REQUEST, answer, memory_request};
use crate::messages::{Channel, Message};
use crate::{Client, ExecutionId, KernelError, Status};

/// How long the kernel may take to say what has changed. An answer of a tool waits for it.
const TIMEOUT: Duration = Duration::from_millis(50);

impl Client {
    /// Lets the kernel know what there is before an execution, so that [`Client::changes`] can tell what that has changed. Waits
    /// only if others' code ran since it last looked, and no longer than 50 ms.
    pub async fn prepare_changes(&self) {
        let is_unknown = {
            let mut handler = self.memory_handler.lock();
            handler.read_reply();
            matches!(*handler, Handler::Unknown)
        };
        if is_unknown && self.speaks_python() {
            self.request_memory_handler();
        }
        let is_outdated = matches!(*self.memory_handler.lock(), Handler::Installed { is_outdated: true });
        // While a cell runs, it would count as ours what that cell does from now on.
        if !is_outdated || *self.status.borrow() != Status::Idle {
            return;
        }
        if self.ask_briefly(&json!({ "mark": {} })).await.is_ok()
            && let Handler::Installed { is_outdated } = &mut *self.memory_handler.lock()
        {
            *is_outdated = false;
        }
    }

    /// What an execution has changed that got this count and is over; `memory/handler/changes.py` says in which form. `None` if
    /// the kernel has no handler, or does not answer within 50 ms.
    pub async fn changes(&self, id: &ExecutionId, count: u64) -> Option<Json> {
        if !self.has_handler() {
            return None;
        }
        let question = json!({ "changes": { "count": count, "request": id.as_str() } });
        answer(&self.ask_briefly(&question).await.ok()?.content).ok()
    }

    async fn ask_briefly(&self, question: &Value) -> Result<Message, KernelError> {
        self.ask(REQUEST, Channel::Control, memory_request(question, TIMEOUT), TIMEOUT).await
    }
}
