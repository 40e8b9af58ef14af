//! Kernels whose sockets never work.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite;
use tungstenite::Message as Frame;

use super::*;
use crate::connector::until_ready;

/// A socket that a proxy has opened and closed.
struct Closed;

impl Stream for Closed {
    type Item = Result<Frame, tungstenite::Error>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

impl Sink<Frame> for Closed {
    type Error = tungstenite::Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(self: Pin<&mut Self>, _: Frame) -> Result<(), Self::Error> {
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Default)]
struct Proxy {
    dials: AtomicUsize,
}

impl Dial for Proxy {
    fn dial<'a>(&'a self, _: &'a str, _: &'a [&'a str]) -> BoxFuture<'a, Result<Dialed, DialError>> {
        self.dials.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok((Box::new(Closed) as Box<dyn Socket>, None)) })
    }
}

async fn connect(proxy: &Arc<Proxy>, outage: &Outage) -> KernelError {
    let channels = Channels::new(Dialer::new(proxy.clone(), "s".to_owned()), outage.clone(), None, None);
    let connector = WebSocketConnector { channels: Some(channels), is_fresh: false };
    let mut end: BoxFuture<'static, String> = Box::pin(std::future::pending());
    until_ready(connector, Duration::from_secs(60), &mut end).await.err().expect("no socket works")
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_never_worked_is_reported_with_its_cause() {
    let (proxy, outage, start) = (Arc::default(), Outage::default(), tokio::time::Instant::now());
    let error = connect(&proxy, &outage).await;
    assert_eq!(error, KernelError::Unusable { cause: "the server closed it".to_owned() });
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(outage.cause().as_deref(), Some("the server closed it"));
}

#[tokio::test(start_paused = true)]
async fn the_next_connection_goes_on_with_the_pauses_of_the_last() {
    let (proxy, outage) = (Arc::new(Proxy::default()), Outage::default());
    connect(&proxy, &outage).await;
    let first = proxy.dials.load(Ordering::Relaxed);
    connect(&proxy, &outage).await;
    assert_eq!(proxy.dials.load(Ordering::Relaxed), first, "it is not dialled before the pause is over");
}
