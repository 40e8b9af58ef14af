//! Questions about what is in a kernel's memory.
//!
//! `IPython` kernels answer them on the control channel, also while a cell runs, by a handler that we install. It leaves no name,
//! no history and no count behind, and runs no code of the person. Where there is none, the shell channel would have to run code,
//! which waits for the running cell and is seen by it.

use std::time::Duration;

use jupyter_protocol::JupyterMessage;
use jupyter_protocol::messaging::UnknownMessage;
use notebook::Json;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::command::Asked;
use crate::messages::{Channel, Message, handler_answer};
use crate::{Client, KernelError, Status};

mod between_runs;
mod changes;
mod handler;
mod silent;

const REQUEST: &str = "cellbridge_memory_request";
/// How long a kernel that runs a cell may take to begin with an answer. Python takes the interpreter from a cell every 5 ms, and
/// native code can keep it.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How much later than its own limit the handler's answer may come.
const GRACE: Duration = Duration::from_secs(1);

/// Why a question about the memory has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("its kernel cannot list variables")]
    Unsupported,
    /// The handler is not there, and cannot be installed while a cell runs.
    #[error("the kernel is running a cell, and can list variables only after it has been idle once")]
    Busy,
    #[error("this kind of kernel can list variables only while no cell is running")]
    OnlyBetweenRuns,
    #[error("this kind of kernel can only list variables")]
    OnlyList,
    #[error("the kernel did not answer within {} s: {}", waited.as_secs_f32(), why_silent(*is_busy))]
    NoAnswer { waited: Duration, is_busy: bool },
    /// The reason, as a sentence.
    #[error("{cause}")]
    Refused { cause: String },
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl Client {
    /// Asks about the memory: `{"list": {…}}` or `{"inspect": {…}}`, as `memory/handler/answers.py` says, or about packages:
    /// `{"packages": {"what": …}}`, as `memory/handler/packages.py` says. The handler gives up after `limit`.
    pub async fn ask_memory(&self, question: &Value, limit: Duration) -> Result<Json, MemoryError> {
        let is_unknown = !self.has_handler() && !self.memory_handler.lock().is_impossible();
        if is_unknown && *self.status.borrow() == Status::Idle {
            self.install_memory_handler().await?;
        }
        if !self.speaks_python() || self.memory_handler.lock().is_impossible() {
            return self.ask_between_runs(question, limit).await;
        }
        // If it is unknown, another program may have installed it.
        let is_busy = *self.status.borrow() != Status::Idle;
        let asked = self.request(Channel::Control, memory_request(question, limit))?;
        let reply = self.memory_reply(asked, limit, is_busy).await?;
        self.memory_handler.lock().answered();
        answer(&reply.content)
    }

    async fn memory_reply(
        &self,
        asked: Asked,
        limit: Duration,
        is_busy: bool,
    ) -> Result<Message, MemoryError> {
        let Asked { mut reply, begun } = asked;
        let is_installed = self.has_handler();
        if is_busy && is_installed {
            tokio::select! {
                biased;
                reply = &mut reply => return Ok(reply.map_err(|_| self.died())?),
                begun = timeout(BEGIN_TIMEOUT, begun) => if begun.is_err() {
                    return Err(MemoryError::NoAnswer { waited: BEGIN_TIMEOUT, is_busy });
                }
            }
        }
        let waited = limit + GRACE;
        match timeout(waited, reply).await {
            Ok(reply) => Ok(reply.map_err(|_| self.died())?),
            Err(_) if is_installed => {
                let is_busy = *self.status.borrow() != Status::Idle;
                Err(MemoryError::NoAnswer { waited, is_busy })
            }
            Err(_) => Err(MemoryError::Busy),
        }
    }

    fn has_handler(&self) -> bool {
        self.memory_handler.lock().is_installed()
    }
}

impl MemoryError {
    /// A kernel without the handler that does not answer has begun with somebody's cell.
    pub(crate) fn between_runs(error: KernelError) -> Self {
        match error {
            KernelError::NoAnswer { .. } => Self::OnlyBetweenRuns,
            error => error.into(),
        }
    }
}

fn why_silent(is_busy: bool) -> &'static str {
    if is_busy {
        "the running cell is in native code that blocks other code"
    } else {
        "it is running no cell, but one of its threads may be in native code"
    }
}

/// Code for a Python that answers a question without a kernel, about files alone.
pub const WITHOUT_KERNEL: &str = "import json, sys; it = json.load(sys.stdin.buffer); space = {}; exec(it['program'], space); \
                                  sys.stdout.buffer.write(bytes.fromhex(space['answered']({}, it['question'])))";

/// Input of [`WITHOUT_KERNEL`].
pub fn question_without_kernel(question: &Value, limit: Duration) -> Vec<u8> {
    let question = json!({ "question": question, "seconds": limit.as_secs_f64() }).to_string();
    json!({ "program": handler::PROGRAM, "question": question }).to_string().into_bytes()
}

/// Output of [`WITHOUT_KERNEL`].
pub fn answer_without_kernel(printed: Vec<u8>) -> Option<Json> {
    answer(&Json::parse(printed.into()).ok()?).ok()
}

/// The request for an answer to `question`, on the control channel.
fn memory_request(question: &Value, limit: Duration) -> JupyterMessage {
    let content = json!({ "question": question, "seconds": limit.as_secs_f64() });
    JupyterMessage::new(UnknownMessage { msg_type: REQUEST.to_owned(), content }, None)
}

/// What is in the content of an answer.
fn answer(content: &Json) -> Result<Json, MemoryError> {
    handler_answer::read(content).map_err(|cause| MemoryError::Refused { cause })
}
