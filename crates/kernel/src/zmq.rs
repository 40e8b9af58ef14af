//! The way to a kernel over `ZeroMQ`, from its connection file to the first answer.

use std::io;
use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport as Kind;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::message::Channel;
use crate::reach::{self, Failure, Way};
use crate::sockets::Sockets;
use crate::{Client, KernelError};

/// Connects to a kernel and waits until it answers and its outputs are seen to arrive, up to `patience`.
///
/// `is_fresh`: the kernel has just been started, so that nothing keeps it from answering a request. It need not listen yet.
/// `gone` completes when the kernel's process is dead and says how it ended; it may
/// never complete. It is heeded as long as there is a [`Client`].
pub async fn connect(
    info: &ConnectionInfo,
    patience: Duration,
    is_fresh: bool,
    gone: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
        let cause = format!("it signs with {}, and only hmac-sha256 is known", info.signature_scheme);
        return Err(KernelError::Unusable { cause });
    }
    let way = OverZmq { info: info.clone(), session: Uuid::new_v4().to_string(), is_fresh };
    reach::connect(way, patience, gone).await
}

struct OverZmq {
    info: ConnectionInfo,
    session: String,
    is_fresh: bool,
}

impl Way for OverZmq {
    type Transport = Sockets;

    const PAUSE: Duration = Duration::from_millis(20);
    const SILENCE: Duration = Duration::MAX;
    const UNREACHED: &'static str = "it does not listen";

    /// A kernel that others started may be at work; `ipykernel` replies on the control channel all the same.
    fn questioned(&self) -> &'static [Channel] {
        if self.is_fresh { &[Channel::Shell] } else { &[Channel::Shell, Channel::Control] }
    }

    async fn open(&mut self) -> Result<Sockets, Failure> {
        if let Err(error) = knock(&self.info).await {
            tracing::trace!(%error, "the kernel does not listen yet");
            return Err(Failure::NotYet(Self::UNREACHED.to_owned()));
        }
        let opened = Sockets::open(&self.info, &self.session).await;
        opened.map_err(|error| Failure::NotYet(error.to_string()))
    }
}

/// Finds out whether the kernel listens, without a word. `zeromq` waits too, but longer and longer.
///
/// The port of `IOPub` is asked because `ipykernel` binds it last.
async fn knock(info: &ConnectionInfo) -> io::Result<()> {
    match info.transport {
        Kind::TCP => TcpStream::connect((info.ip.as_str(), info.iopub_port)).await.map(drop),
        #[cfg(unix)]
        Kind::IPC => {
            tokio::net::UnixStream::connect(format!("{}-{}", info.ip, info.iopub_port)).await.map(drop)
        }
        #[cfg(not(unix))]
        Kind::IPC => Err(io::ErrorKind::Unsupported.into()),
    }
}
