//! What an execution has changed in the kernel's memory, from a kernel with the handler.

use std::sync::atomic::Ordering;
use std::time::Duration;

use notebook::Json;
use serde_json::{Value, json};

use super::{REQUEST, answer, memory_request};
use crate::handler_state::Handler;
use crate::messages::{Channel, Message};
use crate::{Client, KernelError, MessageId, Status};

/// How long the kernel may take to say what has changed. An answer of a tool waits for it.
const TIMEOUT: Duration = Duration::from_millis(50);

impl Client {
    /// Lets the kernel know what there is before an execution, so that [`Client::changes`] can tell what that has changed. Waits
    /// only if others' code ran since it last looked, and no longer than 50 ms.
    /// What is executed afterwards asks by its own request.
    pub async fn prepare_changes(&self) {
        self.asks_for_changes.store(true, Ordering::Relaxed);
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

    /// The expression that asks what the code of this request has changed, for the kernel to evaluate after the code. It uses no name
    /// that the code could have given another value, and is nothing where there is no handler.
    pub(crate) fn changes_expression(&self, request: &str) -> Option<String> {
        let may_be_there =
            matches!(*self.memory_handler.lock(), Handler::Installed { .. } | Handler::Requested(_));
        let is_wanted = may_be_there && self.asks_for_changes.load(Ordering::Relaxed);
        // JSON is a literal of Python, too.
        let request = Value::from(request);
        let find = format!("__import__('IPython').get_ipython().kernel.control_handlers.get('{REQUEST}')");
        // One of an earlier version cannot be asked so. An error would be seen in `sys.last_value`.
        let ask = format!("lambda it: it and 'changes' in it.__dict__ and it.changes({request})");
        is_wanted.then(|| format!("({ask})({find})"))
    }

    /// What an execution has changed that got this count and is over, and whose reply has not said it;
    /// `memory/handler/changes.py` says in which form. `None` if
    /// the kernel has no handler, or does not answer within 50 ms.
    pub async fn changes(&self, id: &MessageId, count: u64) -> Option<Json> {
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
