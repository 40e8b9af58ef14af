//! What the extension holds: the faces of its users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use mcp::{Metrics, Permissions};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::face::Face;
use crate::future::{self, guarded};
use crate::http::{self, Answer};
use crate::managers::{Known, Managers};
use crate::{logging, runtime};

/// How long the end may take. Jupyter Server waits for it before it ends its kernels.
const CLOSING: Duration = Duration::from_secs(2);
/// How long the last spans may take to a collector.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// Answers the requests of one Jupyter server's users.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct Core(Option<Arc<Shared>>);

struct Shared {
    config: Config,
    known: Known,
    faces: Mutex<HashMap<String, Arc<Face>>>,
    shutdown: CancellationToken,
    metrics: Arc<Metrics>,
}

/// Users, sessions, runs, and for each tool its calls.
type Counts = (usize, u64, usize, Vec<(&'static str, u64, u64, u64, f64)>);

#[pymethods]
impl Core {
    /// `config` is JSON. `connection` takes a kernel's id and gives the text of its connection file, `file` takes a path
    /// from the server's root and gives the file's own, `kernels` takes nothing that matters and lists the kernels as the
    /// server does, in JSON; `None` is what only the server can reach. They are called on the server's loop. Starts
    /// nothing.
    #[new]
    fn new(config: &str, connection: Py<PyAny>, file: Py<PyAny>, kernels: Py<PyAny>) -> PyResult<Self> {
        guarded(|| {
            let config: Config = serde_json::from_str(config)
                .map_err(|error| PyValueError::new_err(format!("cellbridge's configuration: {error}")))?;
            logging::start(config.otel_file.clone().map(Into::into))?;
            Ok(Self(Some(Arc::new(Shared {
                config,
                known: Known { connection, file, kernels },
                faces: Mutex::default(),
                shutdown: CancellationToken::new(),
                metrics: Arc::default(),
            }))))
        })
    }

    /// A future of `(status, headers, body, Stream or None)`. The user `may` read, write, execute, and see kernels. Cancelling it tells that the client has gone.
    #[expect(clippy::too_many_arguments, reason = "a request has as many parts")]
    #[expect(clippy::needless_pass_by_value, reason = "Python's arguments arrive by value")]
    fn answer<'py>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        method: &str,
        path: &str,
        headers: Vec<(String, String)>,
        body: PyBackedBytes,
        user: &str,
        may: (bool, bool, bool, bool),
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let shared = self.shared()?;
            let runtime = runtime::start()?;
            if shared.shutdown.is_cancelled() {
                return Err(PyRuntimeError::new_err("cellbridge has ended"));
            }
            let request = http::request(method, path, &headers, Bytes::from_owner(body))?;
            let face = {
                let _entered = runtime.enter();
                shared.face(user, &headers, event_loop)
            };
            let (read, write, execute, sees_kernels) = may;
            face.managers.let_see_kernels(sees_kernels);
            let may = Permissions { read, write, execute };
            let over = shared.shutdown.clone();
            let answer = async move { Answer::collect(face.embedded.answer(request, may).await).await };
            future::spawn(event_loop, runtime, answer, move |py, answer| match answer {
                Ok(answer) => answer.show(py, &over),
                Err(error) => Err(PyRuntimeError::new_err(format!("the answer broke off: {error}"))),
            })
        })
    }

    /// `(users, sessions, runs under way, [(tool, answered, failed, abandoned, seconds)])`.
    fn metrics(&self) -> PyResult<Counts> {
        guarded(|| {
            let shared = self.shared()?;
            let faces: Vec<_> = shared.faces().values().cloned().collect();
            let is_going = |run: &Arc<workspace::Run>| !run.state().is_over();
            let runs = faces.iter().flat_map(|face| face.workspace.journal().runs()).filter(is_going).count();
            let calls = shared.metrics.calls().into_iter();
            let calls =
                calls.map(|(tool, it)| (tool, it.answered, it.failed, it.abandoned, it.time.as_secs_f64()));
            Ok((faces.len(), shared.metrics.sessions(), runs, calls.collect()))
        })
    }

    /// A future that is done when streams, runs and workspaces have ended.
    fn close<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let Some(runtime) = runtime::running() else { return future::none(event_loop) };
            let shared = self.shared()?;
            shared.shutdown.cancel();
            let faces: Vec<_> = shared.faces().drain().map(|(_, face)| face).collect();
            let goodbye = async move {
                let goodbyes = join_all(faces.iter().map(|face| face.workspace.shutdown()));
                if tokio::time::timeout(CLOSING, goodbyes).await.is_err() {
                    tracing::warn!("gave up waiting for the end of what agents had begun");
                }
                for face in &faces {
                    face.workspace.runner().end_spans();
                }
                if let Some(telemetry) = logging::telemetry() {
                    let flushed = tokio::task::spawn_blocking(|| telemetry.flush());
                    let _ = tokio::time::timeout(LAST_SPANS, flushed).await;
                }
            };
            future::spawn(event_loop, runtime, goodbye, |py, ()| Ok(py.None()))
        })
    }
}

impl Core {
    fn shared(&self) -> PyResult<&Arc<Shared>> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("cellbridge has ended"))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        if runtime::running().is_some() {
            shared.shutdown.cancel();
        }
        runtime::release(shared);
    }
}

impl Shared {
    /// The face of a user, who is known by `headers` from now on.
    fn face(&self, user: &str, headers: &[(String, String)], event_loop: &Bound<'_, PyAny>) -> Arc<Face> {
        let mut faces = self.faces();
        if let Some(face) = faces.get(user) {
            face.identity.replace(headers);
            return face.clone();
        }
        let managers = Managers::new(event_loop, &self.known);
        let face = Arc::new(Face::new(&self.config, headers, managers, self.metrics.clone(), &self.shutdown));
        faces.insert(user.to_owned(), face.clone());
        face
    }

    fn faces(&self) -> MutexGuard<'_, HashMap<String, Arc<Face>>> {
        self.faces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
