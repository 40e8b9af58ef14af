//! From nothing to a kernel that answers, whatever carries the messages.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout, timeout_at};

use crate::driver;
use crate::handshake::Handshake;
use crate::message::Channel;
use crate::transport::{Received, Transport};
use crate::{Client, KernelError, KernelInfo};

/// A way to a kernel.
pub(crate) trait Way: Send + 'static {
    /// What carries the messages.
    type Transport: Transport;
    /// The pause before a connection is tried again.
    const PAUSE: Duration;
    /// How long a kernel may be silent on a connection until another is made.
    const SILENCE: Duration;
    /// What is said of a kernel that was not reached yet, for people.
    const UNREACHED: &'static str;

    /// The channels on which the kernel is asked who it is; the first answer counts.
    fn questioned(&self) -> &'static [Channel];

    /// Opens a connection, once.
    fn open(&mut self) -> impl Future<Output = Result<Self::Transport, Failure>> + Send;
}

/// Why a connection was not opened.
pub(crate) enum Failure {
    /// It may be opened later; what was in the way, for people.
    NotYet(String),
    /// It never will.
    Final(KernelError),
}

/// Connects to a kernel and waits until it answers and its outputs are seen to arrive, up to `patience`.
///
/// The connection has a thread of its own. A kernel drops what it publishes when its reader falls behind by some
/// hundred messages, so the reader must not wait while this program decodes an image; nor must an agent wait while a
/// message of 100 MB is checked.
pub(crate) async fn connect(
    way: impl Way,
    patience: Duration,
    gone: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    let no_thread = |error: io::Error| KernelError::Unusable { cause: format!("no thread for it: {error}") };
    let (answer, client) = oneshot::channel();
    let connection = serve(way, patience, Box::pin(gone), answer);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let thread = thread::Builder::new().name("kernel".to_owned());
    thread.spawn(move || runtime.block_on(connection)).map_err(no_thread)?;
    client.await.unwrap_or_else(|_| Err(KernelError::Unusable { cause: "its thread ended".to_owned() }))
}

/// Connects, hands out the client, and serves it.
async fn serve<W: Way>(
    way: W,
    patience: Duration,
    mut gone: BoxFuture<'static, String>,
    mut answer: oneshot::Sender<Result<Client, KernelError>>,
) {
    let mut attempt = Attempt { way, missing: String::new() };
    let ready = tokio::select! {
        ready = timeout(patience, attempt.until_ready()) => ready,
        how = &mut gone => {
            let _ = answer.send(Err(KernelError::Died { how }));
            return;
        }
        () = answer.closed() => return,
    };
    match ready {
        Ok(Ok((transport, kernel))) => {
            let (client, driver) = driver::connection(transport, kernel);
            // A client that nobody takes ends the driver at once.
            let _ = answer.send(Ok(client));
            driver.run(gone).await;
        }
        Ok(Err(error)) => {
            let _ = answer.send(Err(error));
        }
        Err(_) => {
            let _ = answer.send(Err(KernelError::NotReady { waited: patience, cause: attempt.missing }));
        }
    }
}

struct Attempt<W> {
    way: W,
    /// What the kernel has not done so far, for people.
    missing: String,
}

impl<W: Way> Attempt<W> {
    /// Tries until the kernel is ready. A first connection can be cut, when the kernel takes over a port.
    async fn until_ready(&mut self) -> Result<(W::Transport, KernelInfo), KernelError> {
        W::UNREACHED.clone_into(&mut self.missing);
        loop {
            match self.way.open().await {
                Ok(mut transport) => match timeout(W::SILENCE, self.shake_hands(&mut transport)).await {
                    Ok(Some(kernel)) => return Ok((transport, kernel)),
                    Ok(None) => {
                        if let Some(how) = transport.how_it_ended() {
                            return Err(KernelError::Died { how });
                        }
                        "it closes the connection".clone_into(&mut self.missing);
                    }
                    Err(_) => tracing::debug!(missing = self.missing, "another connection is made"),
                },
                Err(Failure::NotYet(cause)) => self.missing = cause,
                Err(Failure::Final(error)) => return Err(error),
            }
            sleep(W::PAUSE).await;
        }
    }

    /// Asks the kernel who it is. `None` if the connection is lost.
    async fn shake_hands(&mut self, transport: &mut W::Transport) -> Option<KernelInfo> {
        let mut handshake = Handshake::default();
        loop {
            if handshake.tick(Instant::now()) {
                for &channel in self.way.questioned() {
                    transport.send((channel, Handshake::question())).await;
                }
            }
            handshake.missing().clone_into(&mut self.missing);
            let ask_again = handshake.deadline().unwrap_or_else(Instant::now);
            let Ok(received) = timeout_at(ask_again.into(), transport.receive()).await else { continue };
            match received? {
                Received::Message(message) => {
                    if let Some(info) = handshake.handle(&message, Instant::now()) {
                        return Some(info);
                    }
                }
                // What was asked is asked again in time.
                Received::Reconnected | Received::Replaced => {}
            }
        }
    }
}
