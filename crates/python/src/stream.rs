//! A response that is passed on as it arrives.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::Frame;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio_util::sync::CancellationToken;

use crate::future::{self, guarded};
use crate::runtime;

/// Data that has arrived is passed on as one chunk, up to about this many bytes.
const MAX_CHUNK_BYTES: usize = 256 * 1024;
/// How long to wait for the whole response. Most arrive within it, and each further chunk costs a turn of the server's
/// event loop.
const WHOLE_TIMEOUT: Duration = Duration::from_millis(15);

/// The chunks of one response.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct Stream(Option<Arc<Source>>);

struct Source {
    /// `None` while a call waits for a chunk, and after the end.
    body: Mutex<Option<Body>>,
    ended: CancellationToken,
}

impl Stream {
    /// The stream ends with `shutdown`.
    pub(crate) fn new(body: Body, shutdown: &CancellationToken) -> Self {
        Self(Some(Arc::new(Source { body: Mutex::new(Some(body)), ended: shutdown.child_token() })))
    }

    fn source(&self) -> PyResult<&Arc<Source>> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the stream is closed"))
    }
}

#[pymethods]
impl Stream {
    /// A future of the next chunk, or of `None` at the end. Call it again only when it is done.
    fn next<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let runtime = runtime::start()?;
            let source = self.source()?.clone();
            if source.body.lock().is_none() {
                return future::none(event_loop);
            }
            let chunk = async move { source.next().await };
            future::spawn(event_loop, runtime, chunk, |py, chunk: Option<Bytes>| {
                Ok(chunk.map(|chunk| PyBytes::new(py, &chunk)).into_pyobject(py)?.into_any().unbind())
            })
        })
    }

    /// Ends the stream, because the client has disconnected.
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
        let mut body = self.body.lock().take()?;
        let (chunk, has_more) = self.ended.run_until_cancelled(chunk(&mut body)).await?;
        if has_more {
            *self.body.lock() = Some(body);
        }
        // It may have been closed since.
        if self.ended.is_cancelled() {
            drop(self.body.lock().take());
        }
        chunk
    }

    fn end(&self) {
        self.ended.cancel();
        let body = self.body.lock().take();
        runtime::release(body);
    }
}

/// The next data of a body, and whether more may follow.
async fn chunk(body: &mut Body) -> (Option<Bytes>, bool) {
    let Some(first) = read(body.frame().await) else { return (None, false) };
    // The sender may be about to send more, or to end.
    tokio::task::yield_now().await;
    let (rest, has_more) = ready(body);
    let all = if rest.is_empty() { first } else { [first, rest].concat().into() };
    (Some(all), has_more)
}

/// The data that a body has now, and whether more may follow.
fn ready(body: &mut Body) -> (Bytes, bool) {
    // Never pending: the deadline has passed already.
    gather(body, std::future::ready(())).now_or_never().unwrap_or_default()
}

/// The data that arrives within the time limit, and whether more may follow.
pub(crate) async fn soon(body: &mut Body) -> (Bytes, bool) {
    gather(body, tokio::time::sleep(WHOLE_TIMEOUT)).await
}

/// The data of a body until `deadline`, and whether more may follow.
async fn gather(body: &mut Body, deadline: impl Future<Output = ()>) -> (Bytes, bool) {
    let mut deadline = pin!(deadline);
    let mut chunks: Vec<Bytes> = Vec::new();
    let mut length = 0;
    while length < MAX_CHUNK_BYTES {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = &mut deadline => return (chunks.concat().into(), true),
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
        // Trailers are not used.
        Ok(frame) => Some(frame.into_data().unwrap_or_default()),
        Err(error) => {
            tracing::warn!(%error, "a response was cut off");
            None
        }
    }
}
