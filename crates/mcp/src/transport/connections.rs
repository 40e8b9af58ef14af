//! The connections of an HTTP listener.
//!
//! Whoever reaches the listener can open connections and send nothing, or half a request. Until a request of a connection has
//! shown that it may be served, the connection is a *stranger*: there is room for some of them, and the oldest makes room for
//! the next. So callers without a token cannot keep out those that have one.

use std::collections::BTreeMap;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use http_body::Frame;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::{Mutex, MutexGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many strangers there may be at once.
const MAX_STRANGERS: usize = 256;
/// How long the head of a request may take, and how long a connection may be idle before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause in the body of a request.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a head.
const MAX_HEAD: usize = 64 * 1024;
/// How long no connection is accepted after the system has refused one, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves connections until `shutdown`, and then until the last has ended.
pub(crate) async fn serve(listener: TcpListener, router: Router, shutdown: &CancellationToken) {
    let (strangers, tasks) = (Strangers::default(), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection =
                    serve_connection(stream, router.clone(), strangers.admit(), shutdown.clone());
                tasks.spawn(connection);
            }
            Err(error) if is_of_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "an HTTP connection could not be accepted");
                // One of those that send nothing may have what is lacking.
                strangers.drop_oldest();
                sleep(PAUSE).await;
            }
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// Whether only the connection that was about to be accepted has failed.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    stranger: Stranger,
    shutdown: CancellationToken,
) {
    // Without this, small event-stream replies wait 40 ms for the agent's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let dropped = stranger.dropped.clone();
    let service = OfConnection { router, stranger: Arc::new(stranger) };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = pin!(serving.with_upgrades());
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

/// The router, for the requests of one connection.
#[derive(Clone)]
struct OfConnection {
    router: Router,
    stranger: Arc<Stranger>,
}

impl tower_service::Service<hyper::Request<hyper::body::Incoming>> for OfConnection {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = <Router as tower_service::Service<Request>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // As a router always is.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        let mut request = request.map(|body| Body::new(Patient::new(Body::new(body))));
        request.extensions_mut().insert(Identity(self.stranger.clone()));
        tower_service::Service::call(&mut self.router, request)
    }
}

/// Says of the connection of a request that it is no stranger.
#[derive(Clone)]
pub(crate) struct Identity(Arc<Stranger>);

impl Identity {
    pub(crate) fn show(&self) {
        self.0.strangers.remove(self.0.number);
    }
}

/// The connections of which nothing is known, by their age.
#[derive(Clone, Default)]
struct Strangers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    admitted: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// A connection that may be a stranger.
struct Stranger {
    number: u64,
    /// Cancelled if it has to make room.
    dropped: CancellationToken,
    strangers: Strangers,
}

impl Strangers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    fn remove(&self, number: u64) {
        self.state().connections.remove(&number);
    }

    fn admit(&self) -> Stranger {
        let dropped = CancellationToken::new();
        let number = {
            let mut state = self.state();
            state.admitted += 1;
            let number = state.admitted;
            state.connections.insert(number, dropped.clone());
            if state.connections.len() > MAX_STRANGERS
                && let Some((_, oldest)) = state.connections.pop_first()
            {
                oldest.cancel();
            }
            number
        };
        Stranger { number, dropped, strangers: self.clone() }
    }

    fn drop_oldest(&self) {
        if let Some((_, oldest)) = self.state().connections.pop_first() {
            oldest.cancel();
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.strangers.remove(self.number);
    }
}

/// The body of a request, which fails if nothing comes for [`BODY_TIMEOUT`].
struct Patient {
    inner: Body,
    timeout: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Patient {
    fn new(inner: Body) -> Self {
        Self { inner, timeout: Box::pin(sleep(BODY_TIMEOUT)), is_waiting: false }
    }
}

/// Nothing more of a body came.
#[derive(Debug, thiserror::Error)]
#[error("no data for {} s", BODY_TIMEOUT.as_secs())]
pub(crate) struct BodyTimeout;

impl http_body::Body for Patient {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.timeout.as_mut().reset(Instant::now() + BODY_TIMEOUT);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            self.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.timeout.as_mut().poll(cx));
        Poll::Ready(Some(Err(Box::new(BodyTimeout))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_makes_room() {
        let strangers = Strangers::default();
        let known: Vec<Stranger> = (0..2).map(|_| strangers.admit()).collect();
        let known: Vec<_> = known.into_iter().map(|stranger| Identity(Arc::new(stranger))).collect();
        known.iter().for_each(Identity::show);
        let mut admitted: Vec<Stranger> = (0..MAX_STRANGERS).map(|_| strangers.admit()).collect();
        let ended = admitted.remove(1);
        drop(ended);
        admitted.push(strangers.admit());
        assert!(admitted.iter().all(|stranger| !stranger.dropped.is_cancelled()));
        admitted.push(strangers.admit());
        assert!(admitted[0].dropped.is_cancelled() && !admitted[1].dropped.is_cancelled());
        assert!(known.iter().all(|known| !known.0.dropped.is_cancelled()));
        drop(admitted);
        assert!(strangers.state().connections.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_fails() {
        use http_body_util::BodyExt as _;
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<Result<Bytes, io::Error>>();
        let stream = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let mut body = Patient::new(Body::from_stream(stream));
        for _ in 0..3 {
            sleep(BODY_TIMEOUT / 2).await;
            sender.send(Ok(Bytes::from_static(b"x"))).unwrap();
            assert!(body.frame().await.unwrap().is_ok());
        }
        let error = body.frame().await.unwrap().unwrap_err();
        assert!(error.is::<BodyTimeout>());
    }
}
