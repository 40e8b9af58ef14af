//! Connects to a kernel and waits until it is ready, over any transport.

use std::io;
use std::thread;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::messages::Channel;
use kernel::{Client, KernelError, LossCause, Ready, Received, Transport, drive};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::readiness::Readiness;

/// The pause before another attempt. Short: a refused connection costs little, and the pause adds to the start of each kernel.
const RETRY_PAUSE: Duration = Duration::from_millis(20);
/// Longest silence of a kernel on one connection before the transport renews it: jupyter-server-documents can lose a kernel that is
/// restarted, until a new connection is made.
const SILENCE: Duration = Duration::from_secs(8);

/// Opens connections to one kernel.
pub(crate) trait Connector: Send + 'static {
    type Transport: Transport;
    /// Why a kernel was not reached yet, for people.
    const UNREACHED: &'static str;

    /// The channels on which the kernel is asked for its info; the first reply counts.
    fn info_channels(&self) -> &'static [Channel];

    /// Opens a connection, once. Another attempt may succeed.
    fn open(&mut self) -> impl Future<Output = Result<Self::Transport, String>> + Send;
}

/// Connects to a kernel and waits until it replies and its publications arrive. From then on, `driven` carries its messages.
pub(crate) async fn connect<C: Connector, T: Transport>(
    connector: C,
    ready_timeout: Duration,
    process_end: impl Future<Output = String> + Send + 'static,
    driven: impl FnOnce(C::Transport) -> T + Send + 'static,
) -> Result<Client, KernelError> {
    let serve = async |transport, ready, process_end, answer: Answer<Client>| {
        let (client, driver) = drive(driven(transport), ready);
        // If the caller has gone, the client is dropped here and the driver ends at once.
        let _ = answer.send(Ok(client));
        drop(driver.run(process_end).await);
    };
    on_thread(connector, ready_timeout, process_end, serve).await
}

/// Takes what [`on_thread`] returns.
pub(crate) type Answer<A> = oneshot::Sender<Result<A, KernelError>>;

/// Connects to a kernel, and serves it once it is ready.
///
/// The connection has its own thread. A kernel drops publications when its reader falls behind by some hundred messages,
/// so the reader must not wait while this program decodes an image, and an agent must not wait while the signature of a
/// message of 100 MB is checked.
pub(crate) async fn on_thread<C: Connector, A: Send + 'static>(
    connector: C,
    ready_timeout: Duration,
    process_end: impl Future<Output = String> + Send + 'static,
    serve: impl AsyncFnOnce(C::Transport, Ready, BoxFuture<'static, String>, Answer<A>) + Send + 'static,
) -> Result<A, KernelError> {
    let no_thread = |error: io::Error| KernelError::Unusable { cause: format!("no thread for it: {error}") };
    let (mut answer, answered) = oneshot::channel();
    // The connection is one task; a pool of workers would cost memory for each kernel.
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let thread = thread::Builder::new().name("kernel".to_owned());
    let serving = move || {
        runtime.block_on(async {
            let mut process_end: BoxFuture<'static, String> = Box::pin(process_end);
            let ready = tokio::select! {
                ready = until_ready(connector, ready_timeout, &mut process_end) => ready,
                // The caller gave up; the attempts would go on for the whole timeout otherwise, and hold the sockets.
                () = answer.closed() => return,
            };
            match ready {
                Ok((transport, ready)) => serve(transport, ready, process_end, answer).await,
                Err(error) => drop(answer.send(Err(error))),
            }
        });
    };
    thread.spawn(serving).map_err(no_thread)?;
    // While the caller waits here, only a panic of the thread drops the sender without an answer.
    answered.await.unwrap_or_else(|_| Err(KernelError::Unusable { cause: "its thread ended".to_owned() }))
}

/// Connects, and waits until the kernel replies and its publications arrive.
pub(crate) async fn until_ready<C: Connector>(
    connector: C,
    ready_timeout: Duration,
    process_end: &mut BoxFuture<'static, String>,
) -> Result<(C::Transport, Ready), KernelError> {
    let mut attempt = Attempt { connector, missing: C::UNREACHED.to_owned() };
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
}

impl<C: Connector> Attempt<C> {
    /// Tries until the kernel is ready. A first connection can be cut, when the kernel takes over a port.
    async fn until_ready(&mut self) -> Result<(C::Transport, Ready), KernelError> {
        loop {
            match self.connector.open().await {
                Ok(mut transport) => {
                    if let Some(ready) = self.wait_ready(&mut transport).await? {
                        return Ok((transport, ready));
                    }
                    // A transport that knows this has tried to reconnect; another attempt would end in the same way.
                    if let Some(LossCause::NotRestored { cause }) = transport.loss() {
                        return Err(KernelError::Unusable { cause });
                    }
                    if let Some(how) = transport.how_it_ended() {
                        return Err(KernelError::Died { how: how.to_string() });
                    }
                    "it closes the connection".clone_into(&mut self.missing);
                }
                Err(cause) => self.missing = cause,
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Waits until the kernel is ready. `None` if the connection ended.
    async fn wait_ready(&mut self, transport: &mut C::Transport) -> Result<Option<Ready>, KernelError> {
        let (mut readiness, mut early, mut silent_since) = (Readiness::default(), Vec::new(), Instant::now());
        loop {
            let received = if transport.is_open() {
                let now = Instant::now();
                if readiness.tick(now.into_std()) {
                    for &channel in self.connector.info_channels() {
                        transport.send((channel, Readiness::question())).await;
                    }
                }
                // Before the wait: the timeout around the attempts drops this future and reports what stands here.
                readiness.missing().clone_into(&mut self.missing);
                if now - silent_since >= SILENCE {
                    silent_since = now;
                    transport.reconnect();
                }
                let ask_again = readiness.ask_at.map_or(now, Instant::from_std);
                // `receive` is cancel safe, so this timeout loses no message.
                let Ok(received) = timeout_at(ask_again, transport.receive()).await else { continue };
                received
            } else {
                transport.receive().await
            };
            let Some(received) = received else { return Ok(None) };
            let mut language_info = None;
            match &received {
                Received::Message(message) => {
                    language_info = readiness.handle(message, Instant::now().into_std());
                }
                Received::Reconnected { .. } => silent_since = Instant::now(),
                Received::Disconnected { cause: Some(cause) } => {
                    return Err(KernelError::Unusable { cause: cause.clone() });
                }
                _ => {}
            }
            if transport.is_resumed() {
                early.push(received);
            }
            if let Some(language_info) = language_info {
                transport.give_back(early);
                return Ok(Some(Ready { language_info, process: readiness.process }));
            }
        }
    }
}
