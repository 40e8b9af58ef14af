//! A kernel's connections for whoever passes its messages on as they are.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use jupyter_protocol::{ConnectionInfo, InterruptRequest, JupyterMessage, ShutdownRequest};
use notebook::Json;
use tokio::sync::mpsc;

use crate::connector::{Answer, on_thread};
use crate::zmq::{RawSockets, ZmqConnector};
use kernel::KernelError;
use kernel::Ready;
use kernel::Transport as _;
use kernel::messages::{self, Channel};

/// A message: its channel, and header, parent header, metadata, content, buffers.
type Parts = (Channel, Vec<Bytes>);

/// The connections to a kernel, over which messages pass as their parts.
///
/// They have a thread of their own, and what arrives waits in memory without a limit: a kernel drops what its reader does
/// not take, and the reader may be waiting for the disk.
#[derive(Debug)]
pub struct KernelSockets {
    received: mpsc::UnboundedReceiver<Parts>,
    to_kernel: mpsc::UnboundedSender<Parts>,
    language_info: Json,
}

/// The end of [`KernelSockets::receive`]: the kernel has closed its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketsEnd;

impl KernelSockets {
    /// Connects to a kernel that was just started, and waits until it replies and its publications arrive.
    ///
    /// `process_end` completes with how the kernel's process ended.
    pub async fn connect(
        info: &ConnectionInfo,
        ready_timeout: Duration,
        process_end: impl Future<Output = String> + Send + 'static,
    ) -> Result<Self, KernelError> {
        on_thread(ZmqConnector::new(info, true)?, ready_timeout, process_end, serve).await
    }

    /// The next message of the kernel. Cancel safe.
    pub async fn receive(&mut self) -> Result<Parts, SocketsEnd> {
        self.received.recv().await.ok_or(SocketsEnd)
    }

    /// The next message, if one waits.
    pub fn try_receive(&mut self) -> Option<Parts> {
        self.received.try_recv().ok()
    }

    /// Queues a message for sending.
    pub fn send(&self, channel: Channel, parts: Vec<Bytes>) {
        // It fails if the kernel has closed its connections.
        let _ = self.to_kernel.send((channel, parts));
    }

    /// Asks the kernel to interrupt what it runs.
    pub fn send_interrupt(&self) {
        self.send_own(JupyterMessage::new(InterruptRequest {}, None));
    }

    /// Asks the kernel to end.
    pub fn send_shutdown(&self, restart: bool) {
        self.send_own(JupyterMessage::new(ShutdownRequest { restart }, None));
    }

    fn send_own(&self, message: JupyterMessage) {
        if let Ok(parts) = messages::write_parts(message, "keeper") {
            // On the shell channel it would wait behind the code that it is meant to stop.
            self.send(Channel::Control, parts.into());
        }
    }

    /// What the kernel reported as its `language_info`.
    pub fn language_info(&self) -> &Json {
        &self.language_info
    }
}

async fn serve(
    mut sockets: RawSockets,
    Ready { language_info, .. }: Ready,
    _process_end: BoxFuture<'static, String>,
    answer: Answer<KernelSockets>,
) {
    let (sender, received) = mpsc::unbounded_channel();
    let (to_kernel, mut outgoing) = mpsc::unbounded_channel();
    if answer.send(Ok(KernelSockets { received, to_kernel, language_info })).is_err() {
        return;
    }
    loop {
        tokio::select! {
            parts = sockets.receive_parts() => match parts {
                Some(parts) => if sender.send(parts).is_err() {
                    return;
                },
                // One of the four connections ended; the others may still hold messages.
                None => if sockets.is_closed() {
                    return;
                },
            },
            parts = outgoing.recv() => match parts {
                Some((channel, parts)) => sockets.send_parts(channel, parts).await,
                None => return,
            },
        }
        // Messages that are here already never wait, and a kernel can send them faster than we read.
        tokio::task::coop::consume_budget().await;
    }
}
