use jupyter_protocol::JupyterMessage;
use notebook::Json;
use tokio::sync::oneshot;

use crate::log::Announcement;
use crate::messages::{Message, Outgoing};
use crate::{Death, MessageId, Sink};

/// What clients ask of the driver.
pub(crate) enum Command {
    Execute {
        id: MessageId,
        request: JupyterMessage,
        announcement: Option<Announcement>,
        sink: Sink,
    },
    /// Send a message that has no reply.
    Send(Outgoing),
    /// Interrupt the kernel if it works on this execution; if it does not have it yet, withdraw it.
    Interrupt(MessageId),
    /// Send a request that belongs to no execution and return the reply.
    Ask {
        request: Outgoing,
        answer: Answer,
    },
    /// Executions aborted after this ended because of a restart.
    Restarting,
    /// The state of all widgets, as a notebook keeps it.
    WidgetState(oneshot::Sender<Option<Json>>),
    /// An earlier connection spoke to this process of the kernel; `None` if that has ended.
    FollowProcess(Option<String>),
    /// The kernel's process ended.
    Died {
        how: Death,
    },
}

/// Where the kernel's answer to a request goes that belongs to no execution.
pub(crate) struct Answer {
    pub(crate) reply: oneshot::Sender<Message>,
    /// The kernel has begun to work on it; `None` once that is said.
    pub(crate) begun: Option<oneshot::Sender<()>>,
}

/// A request that was sent and belongs to no execution.
pub(crate) struct Asked {
    pub(crate) reply: oneshot::Receiver<Message>,
    /// Completes when the kernel begins to work on it.
    pub(crate) begun: oneshot::Receiver<()>,
}

impl Asked {
    /// A request to come, and where its answer goes.
    pub(crate) fn new() -> (Self, Answer) {
        let (reply, reply_receiver) = oneshot::channel();
        let (begun, begun_receiver) = oneshot::channel();
        (Self { reply: reply_receiver, begun: begun_receiver }, Answer { reply, begun: Some(begun) })
    }
}
