//! An agent's session over a WebSocket that Jupyter Server has accepted.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::future::{self, guarded};
use crate::runtime;

/// The messages of one session, in both directions.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct SocketSession {
    /// `None` after the end. Futures hold it too, until `closed`.
    session: Mutex<Option<Arc<mcp::SocketSession>>>,
    closed: CancellationToken,
}

impl SocketSession {
    pub(crate) fn new(session: mcp::SocketSession) -> Self {
        Self { session: Mutex::new(Some(Arc::new(session))), closed: CancellationToken::new() }
    }

    /// A future of what `work` returns, or of `None` if the session is closed first.
    fn spawn<'py, F: Future<Output = Option<String>> + Send>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        work: impl FnOnce(Arc<mcp::SocketSession>) -> F + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let runtime = runtime::start()?;
            let Some(session) = self.session.lock().clone() else { return future::none(event_loop) };
            let closed = self.closed.clone();
            let work = async move { closed.run_until_cancelled(work(session)).await.flatten() };
            future::spawn(event_loop, runtime, work, |py, message| {
                Ok(message.into_pyobject(py)?.into_any().unbind())
            })
        })
    }
}

#[pymethods]
impl SocketSession {
    /// A future that is done when the session takes the next message. Call it again only then.
    fn send<'py>(&self, event_loop: &Bound<'py, PyAny>, message: String) -> PyResult<Bound<'py, PyAny>> {
        self.spawn(event_loop, |session| async move {
            // If it has ended, `next` returns `None`.
            let _ = session.send(&message).await;
            None
        })
    }

    /// A future of the next message to the client, or of `None` at the end. Call it again only when it is done.
    fn next<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.spawn(event_loop, |session| async move { session.next().await })
    }

    /// Ends the session, because the client has disconnected. Its runs continue.
    fn close(&self) -> PyResult<()> {
        guarded(|| {
            if let Some(runtime) = runtime::running() {
                self.closed.cancel();
                if let Some(session) = self.session.lock().take() {
                    runtime.spawn(async move { session.finish().await });
                }
            }
            Ok(())
        })
    }
}

impl Drop for SocketSession {
    fn drop(&mut self) {
        if runtime::running().is_some() {
            self.closed.cancel();
        }
        runtime::release(self.session.get_mut().take());
    }
}
