//! Questions about what is in a kernel's memory.
//!
//! `IPython` kernels answer them on the control channel, also while a cell runs, by a handler that we install. It leaves no name,
//! no history and no count behind, and runs no code of the person. Where there is none, the shell channel would have to run code,
//! which waits for the running cell and is seen by it.

use std::sync::Arc;
use std::time::Duration;

use jupyter_protocol::messaging::UnknownMessage;
use jupyter_protocol::{ExecuteRequest, JupyterMessage};
use notebook::Json;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::messages::{Channel, Message, content};
use crate::{Client, KernelError, Status};

/// What the handler is, in Python.
const HANDLER: &str = concat!(include_str!("memory/packages.py"), "\n", include_str!("memory/handler.py"));
const REQUEST: &str = "cellbridge_memory_request";
/// How long the kernel may take to install the handler. It is idle, unless somebody's cell came before.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How much later than its own limit the handler's answer may come.
const GRACE: Duration = Duration::from_secs(1);

/// Why a question about the memory has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("its kernel can't be asked what is in its memory")]
    Unsupported,
    /// The handler is not there, and cannot be installed while a cell runs.
    #[error(
        "the kernel runs a cell, and can be asked what is in its memory only after the first time that it was idle"
    )]
    Busy,
    /// Native code holds the interpreter.
    #[error("the kernel did not answer within {} s: the running cell is in native code that does not let other code run", waited.as_secs_f32())]
    NoAnswer { waited: Duration },
    /// The reason, as a sentence.
    #[error("{cause}")]
    Refused { cause: String },
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// Whether the kernel's process has the handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Handler {
    #[default]
    Unknown,
    Installed,
    /// It was tried, and cannot be.
    Impossible,
}

/// Shared by the clients of a connection, and reset when the kernel is a new process.
pub(crate) type HandlerState = Arc<Mutex<Handler>>;

impl Client {
    /// Asks about the memory: `{"list": {…}}`, `{"inspect": {…}}` or `{"changes": {}}`, as `memory/handler.py` says; or about
    /// packages: `{"packages": {"what": …}}`, as `memory/packages.py` says. The handler gives up after `limit`.
    pub async fn ask_memory(&self, question: &Value, limit: Duration) -> Result<Json, MemoryError> {
        if *self.memory_handler.lock() == Handler::Unknown && *self.status.borrow() == Status::Idle {
            self.install_memory_handler().await?;
        }
        // If it is unknown, another program may have installed it.
        if *self.memory_handler.lock() == Handler::Impossible {
            return Err(MemoryError::Unsupported);
        }
        let content = json!({ "question": question, "seconds": limit.as_secs_f64() });
        let request = UnknownMessage { msg_type: REQUEST.to_owned(), content };
        let waited = limit + GRACE;
        let reply =
            match self.ask(REQUEST, Channel::Control, JupyterMessage::new(request, None), waited).await {
                Ok(reply) => reply,
                Err(KernelError::NoAnswer { .. }) if *self.memory_handler.lock() == Handler::Installed => {
                    return Err(MemoryError::NoAnswer { waited });
                }
                Err(KernelError::NoAnswer { .. }) => return Err(MemoryError::Busy),
                Err(error) => return Err(error.into()),
            };
        *self.memory_handler.lock() = Handler::Installed;
        answer(&reply)
    }

    /// Lets the kernel answer [`Client::ask_memory`], if it can learn to. For a kernel that has just been started: nobody's code
    /// runs on it yet. Waits at most 5 s.
    pub async fn install_memory_handler(&self) -> Result<(), MemoryError> {
        if !self.speaks_python() {
            *self.memory_handler.lock() = Handler::Impossible;
            return Ok(());
        }
        // JSON is a literal of Python, too. Without code the request counts as nothing and shows nothing.
        let source = Value::from(HANDLER);
        let request = ExecuteRequest {
            code: String::new(),
            silent: true,
            store_history: false,
            user_expressions: Some([("handler".to_owned(), format!("exec({source}, {{}})"))].into()),
            allow_stdin: true,
            stop_on_error: false,
        };
        let request = JupyterMessage::new(request, None);
        let reply = match self.ask("execute_request", Channel::Shell, request, INSTALL_TIMEOUT).await {
            Ok(reply) => reply,
            Err(KernelError::NoAnswer { .. }) => return Err(MemoryError::Busy),
            Err(error) => return Err(error.into()),
        };
        *self.memory_handler.lock() = installed(&reply);
        Ok(())
    }

    fn speaks_python(&self) -> bool {
        #[derive(Deserialize)]
        struct Info {
            name: String,
        }
        self.language_info.decode::<Info>().is_ok_and(|info| info.name == "python")
    }
}

fn installed(reply: &Message) -> Handler {
    let reply: Value = reply.content.decode().unwrap_or_default();
    let status = &reply["user_expressions"]["handler"]["status"];
    if status == "ok" { Handler::Installed } else { Handler::Impossible }
}

fn answer(reply: &Message) -> Result<Json, MemoryError> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        answer: Option<&'a RawValue>,
        cause: Option<String>,
    }
    let unreadable = || MemoryError::Refused { cause: "The kernel's answer cannot be read.".to_owned() };
    let Content { answer, cause } = reply.content.decode().map_err(|_| unreadable())?;
    match (answer, cause) {
        (Some(answer), _) => Ok(content::object(&reply.content, Some(answer))),
        (None, Some(cause)) => Err(MemoryError::Refused { cause }),
        (None, None) => Err(unreadable()),
    }
}
