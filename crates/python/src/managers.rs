//! What Jupyter's managers know and no handler tells.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jupyter::{ConnectionInfo, Direct};
use pyo3::prelude::*;
use tokio::sync::oneshot;

/// How long the server's loop may be busy with something else.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks where kernels listen, on the server's loop.
pub(crate) struct Managers {
    event_loop: Py<PyAny>,
    /// Takes a kernel's id and gives its connection file's text, or `None`.
    connection: Py<PyAny>,
}

impl Managers {
    pub(crate) fn new(event_loop: &Bound<'_, PyAny>, connection: &Py<PyAny>) -> Self {
        let py = event_loop.py();
        Self { event_loop: event_loop.clone().unbind(), connection: connection.clone_ref(py) }
    }

    fn ask(&self, kernel: &str) -> oneshot::Receiver<Option<ConnectionInfo>> {
        let (answer, answered) = oneshot::channel();
        Python::try_attach(|py| {
            let question = Question {
                connection: self.connection.clone_ref(py),
                kernel: kernel.to_owned(),
                answer: Mutex::new(Some(answer)),
            };
            // A closed loop drops the question, which is an answer as well.
            let _ = self.event_loop.call_method1(py, "call_soon_threadsafe", (question,));
        });
        answered
    }
}

impl Direct for Managers {
    fn connection<'a>(&'a self, kernel: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>> {
        async {
            let answered = tokio::time::timeout(PATIENCE, self.ask(kernel)).await;
            answered.ok().and_then(Result::ok).flatten()
        }
        .boxed()
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
    connection: Py<PyAny>,
    kernel: String,
    answer: Mutex<Option<oneshot::Sender<Option<ConnectionInfo>>>>,
}

#[pymethods]
impl Question {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let file: Option<String> = self.connection.call1(py, (&self.kernel,))?.extract(py)?;
        let info = file.and_then(|file| match serde_json::from_str(&file) {
            Ok(info) => Some(info),
            Err(error) => {
                tracing::warn!(%error, "the kernel manager tells of sockets of another kind");
                None
            }
        });
        if let Some(answer) = answer {
            // Whoever asked may have gone.
            let _ = answer.send(info);
        }
        Ok(())
    }
}
