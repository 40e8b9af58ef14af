//! Connects to a kernel and waits until it is ready, over any transport.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use kernel::messages::Channel;
use kernel::{Client, KernelError, Ready, Received, Transport, drive};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout, timeout_at};

use crate::readiness::Readiness;

/// Opens connections to one kernel.
pub(crate) trait Connector: Send + 'static {
    type Transport: Transport;
    /// The pause before another attempt.
    const RETRY_PAUSE: Duration;
    /// How long a kernel may take to be ready on one connection before another is made.
    const READY_TIMEOUT: Duration;
    /// Why a kernel was not reached yet, for people.
    const UNREACHED: &'static str;

    /// The channels on which the kernel is asked for its info; the first reply counts.
    fn info_channels(&self) -> &'static [Channel];

    /// Opens a connection, once.
    fn open(&mut self) -> impl Future<Output = Result<Self::Transport, OpenError>> + Send;
}

/// Why a connection was not opened.
pub(crate) enum OpenError {
    /// Another attempt may succeed.
    Retry {
        cause: String,
    },
    Final(KernelError),
}

/// Connects to a kernel and waits until it replies and its publications arrive.
///
/// The connection has its own thread. A kernel drops publications when its reader falls behind by some hundred messages,
/// so the reader must not wait while this program decodes an image, and an agent must not wait while the signature of a
/// message of 100 MB is checked.
pub(crate) async fn connect(
    connector: impl Connector,
    ready_timeout: Duration,
    process_end: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    let no_thread = |error: io::Error| KernelError::Unusable { cause: format!("no thread for it: {error}") };
    let (answer, client) = oneshot::channel();
    let connection = serve(connector, ready_timeout, Box::pin(process_end), answer);
    // The connection is one task; a pool of workers would cost memory for each kernel.
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let thread = thread::Builder::new().name("kernel".to_owned());
    thread.spawn(move || runtime.block_on(connection)).map_err(no_thread)?;
    // While the caller waits here, only a panic of the thread drops the sender without an answer.
    client.await.unwrap_or_else(|_| Err(KernelError::Unusable { cause: "its thread ended".to_owned() }))
}

/// Connects, sends the client, and runs its driver.
async fn serve<C: Connector>(
    connector: C,
    ready_timeout: Duration,
    mut process_end: BoxFuture<'static, String>,
    mut answer: oneshot::Sender<Result<Client, KernelError>>,
) {
    let ready = tokio::select! {
        ready = until_ready(connector, ready_timeout, &mut process_end) => ready,
        // The caller gave up; the attempts would go on for the whole timeout otherwise, and hold the sockets.
        () = answer.closed() => return,
    };
    match ready {
        Ok((transport, ready)) => {
            let (client, driver) = drive(transport, ready);
            // If the caller has gone, the client is dropped here and the driver ends at once.
            let _ = answer.send(Ok(client));
            drop(driver.run(process_end).await);
        }
        Err(error) => {
            let _ = answer.send(Err(error));
        }
    }
}

/// Connects, and waits until the kernel replies and its publications arrive.
pub(crate) async fn until_ready<C: Connector>(
    connector: C,
    ready_timeout: Duration,
    process_end: &mut BoxFuture<'static, String>,
) -> Result<(C::Transport, Ready), KernelError> {
    let mut attempt = Attempt { connector, missing: String::new(), early: Vec::new() };
    let ready = tokio::select! {
        ready = timeout(ready_timeout, attempt.until_ready()) => ready,
        // A kernel that dies while it starts, for example of a missing module, must not cost the whole timeout.
        how = process_end => return Err(KernelError::Died { how }),
    };
    ready.unwrap_or_else(|_| Err(KernelError::NotReady { waited: ready_timeout, cause: attempt.missing }))
}

struct Attempt<C> {
    connector: C,
    /// What the kernel has not done so far, for people.
    missing: String,
    /// What has come on a resumed connection.
    early: Vec<Received>,
}

impl<C: Connector> Attempt<C> {
    /// Tries until the kernel is ready. A first connection can be cut, when the kernel takes over a port.
    async fn until_ready(&mut self) -> Result<(C::Transport, Ready), KernelError> {
        C::UNREACHED.clone_into(&mut self.missing);
        loop {
            match self.connector.open().await {
                Ok(mut transport) => match timeout(C::READY_TIMEOUT, self.wait_ready(&mut transport)).await {
                    Ok(Some(ready)) => {
                        // That of failed attempts, too: a Jupyter server replays what it kept only once.
                        transport.give_back(std::mem::take(&mut self.early));
                        return Ok((transport, ready));
                    }
                    Ok(None) => {
                        // A transport that knows this has tried to reconnect; another attempt would end in the same way.
                        if let Some(how) = transport.how_it_ended() {
                            return Err(KernelError::Died { how: how.to_string() });
                        }
                        "it closes the connection".clone_into(&mut self.missing);
                    }
                    Err(_) => {
                        tracing::debug!(missing = self.missing, "the kernel is not ready; reconnecting");
                    }
                },
                Err(OpenError::Retry { cause }) => self.missing = cause,
                Err(OpenError::Final(error)) => return Err(error),
            }
            sleep(C::RETRY_PAUSE).await;
        }
    }

    /// Waits until the kernel is ready. `None` if the connection ended.
    async fn wait_ready(&mut self, transport: &mut C::Transport) -> Option<Ready> {
        let mut readiness = Readiness::default();
        loop {
            if readiness.tick(Instant::now()) {
                for &channel in self.connector.info_channels() {
                    transport.send((channel, Readiness::question())).await;
                }
            }
            // Before the wait: the timeout around the attempts drops this future and reports what stands here.
            readiness.missing().clone_into(&mut self.missing);
            let ask_again = readiness.deadline().unwrap_or_else(Instant::now);
            // `receive` is cancel safe, so this timeout loses no message.
            let Ok(received) = timeout_at(ask_again.into(), transport.receive()).await else { continue };
            let received = received?;
            // After anything else the question is repeated in time.
            let language_info = match &received {
                Received::Message(message) => readiness.handle(message, Instant::now()),
                _ => None,
            };
            if transport.is_resumed() {
                self.early.push(received);
            }
            if let Some(language_info) = language_info {
                return Some(Ready { language_info, process: readiness.process() });
            }
        }
    }
}
