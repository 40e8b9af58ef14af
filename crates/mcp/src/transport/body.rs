//! The body of a request, which must not stall.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep};

/// The longest pause in the body of a request.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a request, which fails if nothing comes for [`BODY_TIMEOUT`].
pub(super) struct Patient {
    inner: Body,
    timeout: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Patient {
    pub(super) fn new(inner: Body) -> Self {
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

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_fails() {
        use http_body_util::BodyExt as _;
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
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
