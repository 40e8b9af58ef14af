//! What Jupyter's managers know and no handler tells.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jupyter::{ConnectionInfo, InProcessServer};
use pyo3::prelude::*;
use tokio::sync::oneshot;

/// How long the server's loop may be busy with something else.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks where kernels listen and files lie, on the server's loop.
pub(crate) struct Managers {
    event_loop: Py<PyAny>,
    known: Known,
    /// Whether the user may see kernels.
    sees_kernels: AtomicBool,
}

/// What Python knows: functions of one text that give a text or `None`.
pub(crate) struct Known {
    /// Of a kernel's id: its connection file's text.
    pub(crate) connection: Py<PyAny>,
    /// Of a path from the server's root: the file.
    pub(crate) file: Py<PyAny>,
    /// Of nothing: the kernels, as JSON.
    pub(crate) kernels: Py<PyAny>,
}

impl Managers {
    pub(crate) fn new(event_loop: &Bound<'_, PyAny>, known: &Known) -> Self {
        let py = event_loop.py();
        let known = Known {
            connection: known.connection.clone_ref(py),
            file: known.file.clone_ref(py),
            kernels: known.kernels.clone_ref(py),
        };
        Self { event_loop: event_loop.clone().unbind(), known, sees_kernels: AtomicBool::new(false) }
    }

    /// Takes what the server says of the user's right to see kernels.
    pub(crate) fn let_see_kernels(&self, may: bool) {
        self.sees_kernels.store(may, Ordering::Relaxed);
    }

    async fn ask(&self, what: &Py<PyAny>, of: &str) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        Python::try_attach(|py| {
            let question =
                Question { what: what.clone_ref(py), of: of.to_owned(), answer: Mutex::new(Some(answer)) };
            // A closed loop drops the question, which is an answer as well.
            let _ = self.event_loop.call_method1(py, "call_soon_threadsafe", (question,));
        });
        tokio::time::timeout(PATIENCE, answered).await.ok().and_then(Result::ok).flatten()
    }
}

impl InProcessServer for Managers {
    fn kernels(&self) -> BoxFuture<'_, Option<String>> {
        async {
            // The server's own refusal says more.
            let may_see = self.sees_kernels.load(Ordering::Relaxed);
            if may_see { self.ask(&self.known.kernels, "").await } else { None }
        }
        .boxed()
    }

    fn connection<'a>(&'a self, kernel: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>> {
        async {
            let file = self.ask(&self.known.connection, kernel).await?;
            match serde_json::from_str(&file) {
                Ok(info) => Some(info),
                Err(error) => {
                    tracing::warn!(%error, "the kernel manager tells of sockets of another kind");
                    None
                }
            }
        }
        .boxed()
    }

    fn file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<PathBuf>> {
        async { self.ask(&self.known.file, path).await.map(PathBuf::from) }.boxed()
    }
}

impl fmt::Debug for Managers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managers").finish_non_exhaustive()
    }
}

/// What the loop calls.
#[pyclass(frozen)]
struct Question {
    what: Py<PyAny>,
    of: String,
    answer: Mutex<Option<oneshot::Sender<Option<String>>>>,
}

#[pymethods]
impl Question {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let told = self.what.call1(py, (&self.of,))?.extract(py)?;
        if let Some(answer) = answer {
            // Whoever asked may have gone.
            let _ = answer.send(told);
        }
        Ok(())
    }
}
