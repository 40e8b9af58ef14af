//! Asks a kernel that somebody else has started whether it lives, without joining it.

use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use notebook::Json;
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;
use zeromq::{ReqSocket, Socket, SocketRecv, SocketSend, ZmqMessage, ZmqResult};

use super::{RawSockets, probe_port};
use crate::readiness::{Readiness, language_info};
use kernel::messages::{Channel, Message};
use kernel::{Received, Transport as _};

/// How long a kernel that lives may take to reply to a message.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// How much later than on the control channel it may reply on the shell channel, unless it works on something.
const SHELL_GRACE: Duration = Duration::from_millis(250);

/// What a kernel that lives was seen to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// It does not reply on its shell channel now.
    pub is_busy: bool,
    /// What a notebook keeps as `language_info`. `None` if nothing but its heartbeat answers now.
    pub language_info: Option<Json>,
}

/// Asks a kernel what it does. `None` if nothing answers its heartbeat within `limit`, which is the case at once where nobody
/// listens. Takes up to a second more for a kernel that works on something.
pub async fn probe(info: &ConnectionInfo, limit: Duration) -> Option<Probe> {
    if !timeout(limit, lives(info)).await.unwrap_or_default() {
        return None;
    }
    let mut probe = Probe { is_busy: true, language_info: None };
    // If it cannot be asked more, its heartbeat is all that is known.
    let _ = timeout(REPLY_TIMEOUT, ask(info, &mut probe)).await;
    Some(probe)
}

/// Whether the kernel's heartbeat answers.
async fn lives(info: &ConnectionInfo) -> bool {
    // The port first: `zeromq` retries a refused connection, so that all of `limit` would pass.
    probe_port(info).await.is_ok() && beat(info).await.is_ok()
}

/// Sends something to the heartbeat, which returns it even while the kernel runs code.
async fn beat(info: &ConnectionInfo) -> ZmqResult<()> {
    let mut socket = ReqSocket::new();
    socket.connect(&info.hb_url()).await?;
    // The content does not matter: the heartbeat is an echo (Jupyter messaging, "Heartbeat for kernels").
    socket.send(ZmqMessage::from("ping")).await?;
    socket.recv().await.map(drop)
}

/// Asks for its info on both channels, until it replies on the shell channel, which waits for what it works on. Writes down
/// what comes before; `None` if not all of it comes.
async fn ask(info: &ConnectionInfo, probe: &mut Probe) -> Option<()> {
    // A new identity: under that of another client, `ROUTER_HANDOVER` in `ipykernel` would cut its connection.
    let mut sockets = RawSockets::open(info, &Uuid::new_v4().to_string()).await.ok()?;
    for channel in [Channel::Control, Channel::Shell] {
        sockets.send((channel, Readiness::question())).await;
    }
    let mut until = Instant::now() + REPLY_TIMEOUT;
    loop {
        let Received::Message(message) = timeout_at(until, sockets.receive()).await.ok()?? else { continue };
        if !is_reply(&message) {
            continue;
        }
        // Written at once: the timeout around this future drops what it has not stored.
        probe.language_info = Some(language_info(&message.content));
        if message.channel == Channel::Shell {
            probe.is_busy = false;
            return Some(());
        }
        until = Instant::now() + SHELL_GRACE;
    }
}

fn is_reply(message: &Message) -> bool {
    // The parent need not be compared: replies go to one identity only, and nobody else has ours.
    matches!(message.channel, Channel::Shell | Channel::Control) && message.header.kind == "kernel_info_reply"
}
