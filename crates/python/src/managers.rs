//! Asks Jupyter's managers, in Python, what no HTTP handler answers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jupyter::{ConnectionInfo, InProcessServer};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::oneshot;

/// Time limit for an answer: the server's event loop may be busy.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Finds out on the server's event loop where kernels listen and where files are.
pub(crate) struct Managers {
    event_loop: Py<PyAny>,
    callbacks: Arc<Callbacks>,
    /// Whether the user may see kernels.
    sees_kernels: bool,
}

/// Python functions that take a text and return a text or `None`.
pub(crate) struct Callbacks {
    /// From a kernel's id to the text of its connection file.
    pub(crate) connection: Py<PyAny>,
    /// From a path below the server's root to that of the file.
    pub(crate) file: Py<PyAny>,
    /// The kernels as JSON; ignores its argument.
    pub(crate) kernels: Py<PyAny>,
}

impl Managers {
    pub(crate) fn new(event_loop: &Bound<'_, PyAny>, callbacks: Arc<Callbacks>, sees_kernels: bool) -> Self {
        Self { event_loop: event_loop.clone().unbind(), callbacks, sees_kernels }
    }

    async fn call(&self, callback: &Py<PyAny>, argument: &str) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        Python::try_attach(|py| {
            let call = Call {
                callback: callback.clone_ref(py),
                argument: argument.to_owned(),
                answer: Mutex::new(Some(answer)),
            };
            // A closed loop drops the call, and with it the sender, which ends the wait.
            let _ = self.event_loop.call_method1(py, "call_soon_threadsafe", (call,));
        });
        tokio::time::timeout(TIMEOUT, answered).await.ok().and_then(Result::ok).flatten()
    }
}

impl InProcessServer for Managers {
    fn kernels(&self) -> BoxFuture<'_, Option<String>> {
        async {
            // Otherwise ask over HTTP: the server's refusal gives the reason.
            if self.sees_kernels { self.call(&self.callbacks.kernels, "").await } else { None }
        }
        .boxed()
    }

    fn connection<'a>(&'a self, kernel: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>> {
        async {
            let file = self.call(&self.callbacks.connection, kernel).await?;
            match serde_json::from_str(&file) {
                Ok(info) => Some(info),
                Err(error) => {
                    tracing::warn!(%error, "the kernel manager's connection info cannot be read");
                    None
                }
            }
        }
        .boxed()
    }

    fn file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<PathBuf>> {
        async { self.call(&self.callbacks.file, path).await.map(PathBuf::from) }.boxed()
    }
}

impl fmt::Debug for Managers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managers").finish_non_exhaustive()
    }
}

/// A callback with its argument, to be called by the loop.
#[pyclass(frozen)]
struct Call {
    callback: Py<PyAny>,
    argument: String,
    answer: Mutex<Option<oneshot::Sender<Option<String>>>>,
}

#[pymethods]
impl Call {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.answer.lock().take();
        let result = self.callback.call1(py, (&self.argument,))?.extract(py)?;
        if let Some(answer) = answer {
            // Nobody receives it after the time limit.
            let _ = answer.send(result);
        }
        Ok(())
    }
}
