use jupyter_protocol::JupyterMessage;
use tokio::sync::oneshot;

use crate::messages::{Message, Outgoing};
use crate::{ExecutionId, ExecutionNote, Sink};

/// What clients ask of the driver.
pub(crate) enum Command {
    Execute {
        id: ExecutionId,
        request: JupyterMessage,
        note: Option<ExecutionNote>,
        sink: Sink,
    },
    /// Send a message that has no reply.
    Send(Outgoing),
    /// Send a request that belongs to no execution and return the reply.
    Ask {
        request: Outgoing,
        reply: oneshot::Sender<Message>,
    },
    /// Executions aborted after this ended because of a restart.
    Restarting,
    /// The kernel's process ended.
    Died {
        how: String,
    },
}
