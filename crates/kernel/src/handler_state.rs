//! Whether the kernel's process has the handler that answers questions about its memory.

use std::sync::Arc;

use notebook::Json;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::messages::Message;
use crate::messages::handler_answer::expression_reply;

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
    /// Whether it was installed, as the reply to the request says.
    pub(crate) fn of_reply(reply: &Message) -> Self {
        let status = reply.content.member("status");
        let status = status.as_ref().and_then(Json::text).unwrap_or_default();
        match (&*status, expression_reply(reply).0.as_str()) {
            (_, "ok") => Self::Installed { is_outdated: false },
            // Somebody's cell failed just before, and the kernel dropped what was queued behind it.
            ("aborted", _) => Self::Unknown,
            _ => Self::Impossible,
        }
    }

    pub(crate) fn is_installed(&mut self) -> bool {
        self.read_reply();
        matches!(self, Self::Installed { .. })
    }

    pub(crate) fn is_impossible(&self) -> bool {
        matches!(self, Self::Impossible)
    }

    /// It has answered, whichever server installed it.
    pub(crate) fn answered(&mut self) {
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

    pub(crate) fn read_reply(&mut self) {
        let Self::Requested(reply) = self else { return };
        *self = match reply.try_recv() {
            Ok(reply) => Self::of_reply(&reply),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Closed) => Self::Unknown,
        };
    }
}
