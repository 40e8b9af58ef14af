//! The connections of a listener.
//!
//! Whoever reaches the listener can open connections and send nothing, or half a request. Until a request of a connection has
//! shown that it may be served, the connection is a *stranger*: there is room for some of them, and one makes room for the next.
//! So callers without a token cannot keep out those that have one.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The most bytes and headers of a head. A browser sends all cookies of `localhost`, so heads can be long.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
/// The pause after the system has refused a connection, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);
/// Time limit for requests to end at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Bounds for the strangers at a listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most strangers at once.
    pub strangers: usize,
    /// A further one replaces the oldest if that is older than this, else the youngest, so that a flood of connections cannot close one
    /// that has waited for a person.
    ///
    /// Example: 64 strangers may wait for five minutes, and 64 do, the oldest for one minute. Connection 65 replaces the 64th,
    /// connection 66 replaces the 65th, and the first 63 stay. If the oldest has waited for six minutes, connection 65 replaces it.
    pub protected: Duration,
    /// Time limit for the first byte of a connection.
    pub silence: Duration,
    /// Time limit for the head of a request, and for the pause before the next one.
    pub head: Duration,
}

/// A listener, as its connections see it.
pub trait Door: Send + Sync + 'static {
    const LIMITS: Limits;
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    /// Answers a request after its checks.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        caller: Caller,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// A connection is open that sends nothing, until the result is dropped.
    fn silence(&self) -> Box<dyn Send> {
        Box::new(())
    }

    /// A connection was closed before its first byte.
    fn closed_silently(&self) {}
}

/// Serves the connections of `listeners` until `shutdown`, and then until the last has ended or it takes too long.
pub async fn serve<D: Door>(
    door: Arc<D>,
    listeners: impl IntoIterator<Item = TcpListener>,
    shutdown: &CancellationToken,
) {
    let (strangers, tasks) = (Arc::new(Strangers::new(D::LIMITS)), TaskTracker::new());
    join_all(listeners.into_iter().map(|it| accept(&door, it, &strangers, &tasks, shutdown))).await;
    tasks.close();
    let _ = timeout(CLOSE_TIMEOUT, tasks.wait()).await;
}

async fn accept<D: Door>(
    door: &Arc<D>,
    listener: TcpListener,
    strangers: &Arc<Strangers>,
    tasks: &TaskTracker,
    shutdown: &CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let stranger = Strangers::admit(strangers);
                tasks.spawn(serve_connection(door.clone(), stream, stranger, shutdown.clone()));
            }
            Err(error) if is_of_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // A silent connection may have what is lacking.
                strangers.drop_one();
                sleep(PAUSE).await;
            }
        }
    }
}

/// Whether only the connection that was about to be accepted has failed.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection<D: Door>(
    door: Arc<D>,
    stream: TcpStream,
    stranger: Stranger,
    shutdown: CancellationToken,
) {
    // Without this, small event-stream replies wait 40 ms for the agent's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let dropped = stranger.dropped.clone();
    let has_spoken = tokio::select! {
        has_spoken = has_spoken(&*door, &stream) => has_spoken,
        () = dropped.cancelled() => return,
        () = shutdown.cancelled() => return,
    };
    if !has_spoken {
        return;
    }
    let caller = Caller(Arc::new(stranger));
    let service = service_fn(|request| {
        let answer = door.clone().answer(request, caller.clone());
        async { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(D::LIMITS.head);
    builder.max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        ended = &mut connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "an HTTP connection ended");
            }
            return;
        }
        () = dropped.cancelled() => return,
        () = shutdown.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Waits for the first byte. `false` if none comes.
async fn has_spoken<D: Door>(door: &D, stream: &TcpStream) -> bool {
    let silence = door.silence();
    let first = timeout(D::LIMITS.silence, stream.peek(&mut [0])).await;
    drop(silence);
    match first {
        Ok(Ok(1..)) => true,
        Ok(_) => {
            door.closed_silently();
            false
        }
        Err(_) => false,
    }
}

/// The connection of a request.
#[derive(Clone)]
pub struct Caller(Arc<Stranger>);

impl Caller {
    /// The connection is no stranger from now on.
    pub fn show(&self) {
        self.0.strangers.remove(self.0.number);
    }
}

/// The connections of which nothing is known, by their age.
struct Strangers {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    admitted: u64,
    connections: BTreeMap<u64, (Instant, CancellationToken)>,
}

/// A connection that may be a stranger.
struct Stranger {
    number: u64,
    /// Cancelled if it has to make room.
    dropped: CancellationToken,
    strangers: Arc<Strangers>,
}

impl Strangers {
    fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default() }
    }

    fn admit(this: &Arc<Self>) -> Stranger {
        if this.state.lock().connections.len() >= this.limits.strangers {
            this.drop_one();
        }
        let dropped = CancellationToken::new();
        let mut state = this.state.lock();
        state.admitted += 1;
        let number = state.admitted;
        state.connections.insert(number, (Instant::now(), dropped.clone()));
        Stranger { number, dropped, strangers: this.clone() }
    }

    /// Closes the oldest connection, or the youngest if all are protected.
    fn drop_one(&self) {
        let connections = &mut self.state.lock().connections;
        let oldest = connections.first_entry();
        let oldest = oldest.filter(|it| it.get().0.elapsed() >= self.limits.protected);
        let (_, dropped) = match oldest {
            Some(oldest) => oldest.remove(),
            None => match connections.pop_last() {
                Some((_, youngest)) => youngest,
                None => return,
            },
        };
        dropped.cancel();
    }

    fn remove(&self, number: u64) {
        self.state.lock().connections.remove(&number);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.strangers.remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn strangers(protected: Duration) -> Arc<Strangers> {
        Arc::new(Strangers::new(Limits { strangers: 64, protected, silence: MINUTE, head: MINUTE }))
    }

    fn is_dropped(stranger: &Stranger) -> bool {
        stranger.dropped.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_stranger_makes_room() {
        let strangers = strangers(Duration::ZERO);
        let known: Vec<_> = (0..2).map(|_| Caller(Arc::new(Strangers::admit(&strangers)))).collect();
        known.iter().for_each(Caller::show);
        let mut admitted: Vec<Stranger> = (0..64).map(|_| Strangers::admit(&strangers)).collect();
        drop(admitted.remove(1));
        admitted.push(Strangers::admit(&strangers));
        assert!(!admitted.iter().any(is_dropped));
        admitted.push(Strangers::admit(&strangers));
        assert!(is_dropped(&admitted[0]));
        assert!(!admitted[1..].iter().any(is_dropped));
        assert!(!known.iter().any(|known| is_dropped(&known.0)));
        drop(admitted);
        assert!(strangers.state.lock().connections.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_closes_no_connection_that_is_protected() {
        let strangers = strangers(5 * MINUTE);
        let mut admitted: Vec<Stranger> = (0..64).map(|_| Strangers::admit(&strangers)).collect();
        tokio::time::advance(MINUTE).await;
        admitted.extend((0..2).map(|_| Strangers::admit(&strangers)));
        let dropped: Vec<usize> = (0..66).filter(|it| is_dropped(&admitted[*it])).collect();
        assert_eq!(dropped, [63, 64]);
        tokio::time::advance(5 * MINUTE).await;
        admitted.push(Strangers::admit(&strangers));
        assert!(is_dropped(&admitted[0]));
        assert!(!is_dropped(&admitted[65]));
    }
}
