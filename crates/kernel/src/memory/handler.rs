//! How the handler comes into the kernel's process.

use std::time::Duration;

use jupyter_protocol::JupyterMessage;
use serde_json::Value;

use super::MemoryError;
use super::silent::silent_expression;
use crate::handler_state::Handler;
use crate::messages::Channel;
use crate::{Client, KernelError};

/// What the handler is, in Python.
pub(super) const PROGRAM: &str = include_str!(concat!(env!("OUT_DIR"), "/handler.py"));
/// How long the kernel may take to install the handler. It is idle, unless somebody's cell came before.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(5);

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
        *self.memory_handler.lock() = Handler::of_reply(&reply);
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
        let name = self.language_info.member("name");
        name.and_then(|name| Some(name.text()?.into_owned())).unwrap_or_default()
    }
}

fn install_request() -> JupyterMessage {
    // JSON is a literal of Python, too.
    let program = Value::from(PROGRAM);
    silent_expression(format!("(lambda space: (exec({program}, space), space['install']())[1])({{}})"))
}
