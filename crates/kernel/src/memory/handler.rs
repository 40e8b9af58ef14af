//! The handler in the kernel's process: whether it is there, and how it comes there.

use std::sync::Arc;
use std::time::Duration;

use jupyter_protocol::JupyterMessage;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::MemoryError;
use super::silent::{expression_reply, silent_expression};
use crate::messages::{Channel, Message};
use crate::{Client, KernelError};

/// What the handler is, in Python.
pub(super) const PROGRAM: &str = include_str!(concat!(env!("OUT_DIR"), "/handler.py"));
/// How long the kernel may take to install the handler. It is idle, unless somebody's cell came before.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the kernel's process has the handler.
#[derive(Debug, Default)]
pub(crate) enum Handler {
    #[default]
    Unknown,
    /// It was sent; the kernel's reply comes here.
    Requested(oneshot::Receiver<Message>),
    Installed {
        /// Code that is not ours has run since the handler last looked what there is.
        is_outdated: bool,
    },
    /// It was tried, and cannot be.
    Impossible,
}

/// Shared by the clients of a connection, and reset when the kernel is a new process.
pub(crate) type HandlerState = Arc<Mutex<Handler>>;

impl Handler {
    pub(super) fn is_installed(&mut self) -> bool {
        self.read_reply();
        matches!(self, Self::Installed { .. })
    }

    pub(super) fn is_impossible(&self) -> bool {
        matches!(self, Self::Impossible)
    }

    /// It has answered, whichever server installed it.
    pub(super) fn answered(&mut self) {
        if !self.is_installed() {
            *self = Self::Installed { is_outdated: true };
        }
    }

    /// Code that is not ours begins to run.
    pub(crate) fn others_run(&mut self) {
        self.read_reply();
        if let Self::Installed { is_outdated } = self {
            *is_outdated = true;
        }
    }

    pub(super) fn read_reply(&mut self) {
        let Self::Requested(reply) = self else { return };
        *self = match reply.try_recv() {
            Ok(reply) => installed(&reply),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Closed) => Self::Unknown,
        };
    }
}

impl Client {
    /// Lets the kernel answer [`Client::ask_memory`], if it can learn to. For a kernel that has just been started: nobody's code
    /// runs on it yet. Waits at most 5 s.
    pub async fn install_memory_handler(&self) -> Result<(), MemoryError> {
        if !self.speaks_python() {
            *self.memory_handler.lock() = Handler::Impossible;
            return Ok(());
        }
        let reply =
            match self.ask("execute_request", Channel::Shell, install_request(), INSTALL_TIMEOUT).await {
                Ok(reply) => reply,
                Err(KernelError::NoAnswer { .. }) => return Err(MemoryError::Busy),
                Err(error) => return Err(error.into()),
            };
        *self.memory_handler.lock() = installed(&reply);
        Ok(())
    }

    /// The same without waiting: what is executed next runs after it.
    pub(super) fn request_memory_handler(&self) {
        if let Ok(asked) = self.request(Channel::Shell, install_request()) {
            *self.memory_handler.lock() = Handler::Requested(asked.reply);
        }
    }

    pub(super) fn speaks_python(&self) -> bool {
        self.language() == "python"
    }

    /// The name of its language, as the kernel writes it.
    pub(super) fn language(&self) -> String {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Info {
            name: String,
        }
        self.language_info.decode::<Info>().unwrap_or_default().name
    }
}

fn install_request() -> JupyterMessage {
    // JSON is a literal of Python, too.
    let program = Value::from(PROGRAM);
    silent_expression(format!("(lambda space: (exec({program}, space), space['install']())[1])({{}})"))
}

fn installed(reply: &Message) -> Handler {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Content {
        status: String,
    }
    let content: Content = reply.content.decode().unwrap_or_default();
    match (content.status.as_str(), expression_reply(reply).0.as_str()) {
        (_, "ok") => Handler::Installed { is_outdated: false },
        // Somebody's cell failed just before, and the kernel dropped what was queued behind it.
        ("aborted", _) => Handler::Unknown,
        _ => Handler::Impossible,
    }
}
