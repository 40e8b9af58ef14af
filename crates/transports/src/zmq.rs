//! Kernels reached directly over `ZeroMQ`, by their connection file.
//!
//! `sockets` are the connections; `probe` asks over them.

use std::io;
use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport as Kind;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::connector::{self, Connector};
use kernel::messages::Channel;
use kernel::{Client, KernelError};

mod probe;
mod sockets;
mod wire;

pub use probe::{Probe, probe};
pub(crate) use sockets::RawSockets;
use sockets::Sockets;

/// Connects to a kernel and waits until it replies and its publications arrive.
///
/// `is_fresh`: the kernel has just been started, so that nothing keeps it from replying. It need not listen yet.
/// `process_end` completes with how the kernel's process ended; it may never complete. It is watched as long as there is a
/// [`Client`].
pub async fn connect(
    info: &ConnectionInfo,
    ready_timeout: Duration,
    is_fresh: bool,
    process_end: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    connector::connect(ZmqConnector::new(info, is_fresh)?, ready_timeout, process_end, Sockets::new).await
}

/// Opens connections to one kernel.
pub(crate) struct ZmqConnector {
    info: ConnectionInfo,
    session: String,
    is_fresh: bool,
}

impl ZmqConnector {
    pub(crate) fn new(info: &ConnectionInfo, is_fresh: bool) -> Result<Self, KernelError> {
        // Without a key nothing is signed, whatever scheme is named.
        // Refused here, as later it would only look like silence: a kernel drops requests with a wrong signature.
        if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
            let cause = format!("it signs with {}, and only hmac-sha256 is supported", info.signature_scheme);
            return Err(KernelError::Unusable { cause });
        }
        // Also the `ZeroMQ` identity: under that of another client, this one would take over its replies.
        let session = Uuid::new_v4().to_string();
        Ok(Self { info: info.clone(), session, is_fresh })
    }
}

impl Connector for ZmqConnector {
    type Transport = RawSockets;

    const UNREACHED: &'static str = "it does not listen";

    /// A kernel that somebody else started may be busy; `ipykernel` replies on the control channel all the same.
    fn info_channels(&self) -> &'static [Channel] {
        if self.is_fresh { &[Channel::Shell] } else { &[Channel::Shell, Channel::Control] }
    }

    async fn open(&mut self) -> Result<RawSockets, String> {
        if let Err(error) = probe_port(&self.info).await {
            tracing::trace!(%error, "the kernel does not listen yet");
            return Err(Self::UNREACHED.to_owned());
        }
        let opened = RawSockets::open(&self.info, &self.session).await;
        // Never final: `process_end` knows better than a failed handshake whether the kernel still lives.
        opened.map_err(|error| error.to_string())
    }
}

/// Fails if the kernel does not listen yet. `zeromq` retries by itself, but with growing pauses.
///
/// The port of `IOPub` is tried because `ipykernel` binds it last.
async fn probe_port(info: &ConnectionInfo) -> io::Result<()> {
    match info.transport {
        // Closed again without a ZMTP greeting, which is no peer yet for the kernel's socket.
        Kind::TCP => TcpStream::connect((info.ip.as_str(), info.iopub_port)).await.map(drop),
        #[cfg(unix)]
        Kind::IPC => {
            // `jupyter_client` and `ipykernel` name IPC sockets `<ip>-<port>`.
            tokio::net::UnixStream::connect(format!("{}-{}", info.ip, info.iopub_port)).await.map(drop)
        }
        #[cfg(not(unix))]
        Kind::IPC => Err(io::ErrorKind::Unsupported.into()),
    }
}
