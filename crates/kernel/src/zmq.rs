//! The way to a kernel over `ZeroMQ`, from its connection file to the first answer.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport as Kind;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout, timeout_at};
use uuid::Uuid;

use crate::driver;
use crate::handshake::Handshake;
use crate::sockets::Sockets;
use crate::transport::Transport;
use crate::{Client, KernelError, KernelInfo};

/// The pause before a connection is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// Connects to a kernel and waits until it answers and its outputs are seen to arrive, up to `patience`.
///
/// The kernel need not listen yet. `gone` completes when the kernel's process is dead and says how it ended; it may
/// never complete. It is heeded as long as there is a [`Client`].
///
/// The connection has a thread of its own. A kernel drops what it publishes when its reader falls behind by some
/// hundred messages, so the reader must not wait while this program decodes an image; nor must an agent wait while a
/// message of 100 MB is checked.
pub async fn connect(
    info: &ConnectionInfo,
    patience: Duration,
    gone: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
        let cause = format!("it signs with {}, and only hmac-sha256 is known", info.signature_scheme);
        return Err(KernelError::Unusable { cause });
    }
    let no_thread = |error: io::Error| KernelError::Unusable { cause: format!("no thread for it: {error}") };
    let (answer, client) = oneshot::channel();
    let connection = serve(info.clone(), patience, Box::pin(gone), answer);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let thread = thread::Builder::new().name("kernel".to_owned());
    thread.spawn(move || runtime.block_on(connection)).map_err(no_thread)?;
    client.await.unwrap_or_else(|_| Err(KernelError::Unusable { cause: "its thread ended".to_owned() }))
}

/// Connects, hands out the client, and serves it.
async fn serve(
    info: ConnectionInfo,
    patience: Duration,
    mut gone: BoxFuture<'static, String>,
    mut answer: oneshot::Sender<Result<Client, KernelError>>,
) {
    let mut attempt = Attempt { info: &info, missing: String::new() };
    let ready = tokio::select! {
        ready = timeout(patience, attempt.until_ready()) => ready,
        how = &mut gone => {
            let _ = answer.send(Err(KernelError::Died { how }));
            return;
        }
        () = answer.closed() => return,
    };
    match ready {
        Ok((sockets, kernel)) => {
            let (client, driver) = driver::connection(sockets, kernel);
            // A client that nobody takes ends the driver at once.
            let _ = answer.send(Ok(client));
            driver.run(gone).await;
        }
        Err(_) => {
            let _ = answer.send(Err(KernelError::NotReady { waited: patience, cause: attempt.missing }));
        }
    }
}

struct Attempt<'a> {
    info: &'a ConnectionInfo,
    /// What the kernel has not done so far, for people.
    missing: String,
}

impl Attempt<'_> {
    /// Tries until the kernel is ready. A first connection can be cut, when the kernel takes over a port.
    async fn until_ready(&mut self) -> (Sockets, KernelInfo) {
        let session = Uuid::new_v4().to_string();
        loop {
            "it does not listen".clone_into(&mut self.missing);
            while let Err(error) = knock(self.info).await {
                tracing::trace!(%error, "the kernel does not listen yet");
                sleep(PAUSE).await;
            }
            match Sockets::open(self.info, &session).await {
                Ok(mut sockets) => {
                    if let Some(kernel) = self.shake_hands(&mut sockets).await {
                        return (sockets, kernel);
                    }
                    "it closes the connection".clone_into(&mut self.missing);
                }
                Err(error) => self.missing = error.to_string(),
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks the kernel who it is. `None` if the connection is lost.
    async fn shake_hands(&mut self, sockets: &mut Sockets) -> Option<KernelInfo> {
        let mut handshake = Handshake::default();
        loop {
            if let Some(question) = handshake.tick(Instant::now()) {
                sockets.send(question).await;
            }
            handshake.missing().clone_into(&mut self.missing);
            let ask_again = handshake.deadline().unwrap_or_else(Instant::now);
            let Ok(received) = timeout_at(ask_again.into(), sockets.receive()).await else { continue };
            if let Some(info) = handshake.handle(&received?, Instant::now()) {
                return Some(info);
            }
        }
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
