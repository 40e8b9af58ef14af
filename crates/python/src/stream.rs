//! A response that is sent as it comes.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::Frame;
use http_body_util::BodyExt as _;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio_util::sync::CancellationToken;

use crate::future::{self, guarded};
use crate::runtime;

/// What is said at once is handed over as one chunk, up to about this many bytes.
const ENOUGH: usize = 256 * 1024;
/// How long an answer is waited for as a whole. Most are there by then, and each part costs the server's loop a turn.
const SOON: Duration = Duration::from_millis(15);

/// The chunks of one response.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct Stream(Option<Arc<Source>>);

struct Source {
    /// Absent while a chunk is waited for, and once the stream has ended.
    body: Mutex<Option<Body>>,
    over: CancellationToken,
}

impl Stream {
    /// The stream ends with `over`.
    pub(crate) fn new(body: Body, over: &CancellationToken) -> Self {
        Self(Some(Arc::new(Source { body: Mutex::new(Some(body)), over: over.child_token() })))
    }

    fn source(&self) -> PyResult<&Arc<Source>> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the stream is gone"))
    }
}

#[pymethods]
impl Stream {
    /// The next chunk; `None` at the end. One is waited for at a time.
    fn next<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let runtime = runtime::start()?;
            let source = self.source()?.clone();
            if source.body().is_none() {
                return future::none(event_loop);
            }
            let chunk = async move { source.next().await };
            future::spawn(event_loop, runtime, chunk, |py, chunk: Option<Bytes>| {
                Ok(chunk.map(|chunk| PyBytes::new(py, &chunk)).into_pyobject(py)?.into_any().unbind())
            })
        })
    }

    /// Ends it: the client has gone.
    fn close(&self) -> PyResult<()> {
        guarded(|| {
            if runtime::running().is_some() {
                self.source()?.end();
            }
            Ok(())
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Some(source) = self.0.take() else { return };
        if runtime::running().is_some() {
            source.end();
        }
        runtime::release(source);
    }
}

impl Source {
    async fn next(&self) -> Option<Bytes> {
        let mut body = self.body().take()?;
        let (chunk, has_more) = self.over.run_until_cancelled(chunk(&mut body)).await?;
        if has_more {
            *self.body() = Some(body);
        }
        // Closed in the meantime.
        if self.over.is_cancelled() {
            drop(self.body().take());
        }
        chunk
    }

    fn end(&self) {
        self.over.cancel();
        let body = self.body().take();
        runtime::release(body);
    }

    fn body(&self) -> MutexGuard<'_, Option<Body>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a body says next, and whether more may follow.
async fn chunk(body: &mut Body) -> (Option<Bytes>, bool) {
    let Some(first) = read(body.frame().await) else { return (None, false) };
    // Whoever says this may be about to say more, or to end.
    tokio::task::yield_now().await;
    let (rest, has_more) = ready(body);
    let all = if rest.is_empty() { first } else { [first, rest].concat().into() };
    (Some(all), has_more)
}

/// What a body says without a wait, and whether more may follow.
fn ready(body: &mut Body) -> (Bytes, bool) {
    // It never waits: what is over already ends it.
    gather(body, std::future::ready(())).now_or_never().unwrap_or_default()
}

/// What a body says soon, and whether more may follow.
pub(crate) async fn soon(body: &mut Body) -> (Bytes, bool) {
    gather(body, tokio::time::sleep(SOON)).await
}

/// What a body says until `over`, and whether more may follow.
async fn gather(body: &mut Body, over: impl Future<Output = ()>) -> (Bytes, bool) {
    let mut over = pin!(over);
    let mut chunks: Vec<Bytes> = Vec::new();
    let mut length = 0;
    while length < ENOUGH {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = &mut over => return (chunks.concat().into(), true),
        };
        let Some(chunk) = read(frame) else { return (chunks.concat().into(), false) };
        length += chunk.len();
        chunks.push(chunk);
    }
    (chunks.concat().into(), true)
}

/// The data of a frame; `None` at the end.
fn read(frame: Option<Result<Frame<Bytes>, axum::Error>>) -> Option<Bytes> {
    match frame? {
        // Trailers are for nobody.
        Ok(frame) => Some(frame.into_data().unwrap_or_default()),
        Err(error) => {
            tracing::warn!(%error, "a response broke off");
            None
        }
    }
}
