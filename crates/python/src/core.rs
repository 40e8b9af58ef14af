//! What the extension holds: the faces of its users.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use mcp::Permissions;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::face::Face;
use crate::future::{self, guarded};
use crate::http::{self, Answer};
use crate::runtime;

/// How long the end may take. Jupyter Server waits for it before it ends its kernels.
const CLOSING: Duration = Duration::from_secs(5);

/// Answers the requests of one Jupyter server's users.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct Core(Option<Arc<Shared>>);

struct Shared {
    config: Config,
    faces: Mutex<HashMap<String, Arc<Face>>>,
    shutdown: CancellationToken,
    requests: AtomicU64,
}

#[pymethods]
impl Core {
    /// `config` is JSON. Starts nothing.
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        guarded(|| {
            let config = serde_json::from_str(config)
                .map_err(|error| PyValueError::new_err(format!("cellbridge's configuration: {error}")))?;
            Ok(Self(Some(Arc::new(Shared {
                config,
                faces: Mutex::default(),
                shutdown: CancellationToken::new(),
                requests: AtomicU64::new(0),
            }))))
        })
    }

    /// A future of `(status, headers, body, Stream or None)`. Cancelling it tells that the client has gone.
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
        may: (bool, bool, bool),
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
                shared.face(user, &headers)
            };
            shared.requests.fetch_add(1, Ordering::Relaxed);
            let (read, write, execute) = may;
            let may_change = !shared.config.read_only;
            let may = Permissions { read, write: write && may_change, execute: execute && may_change };
            let over = shared.shutdown.clone();
            let answer = async move { Answer::collect(face.embedded.answer(request, may).await).await };
            future::spawn(event_loop, runtime, answer, move |py, answer| match answer {
                Ok(answer) => answer.show(py, &over),
                Err(error) => Err(PyRuntimeError::new_err(format!("the answer broke off: {error}"))),
            })
        })
    }

    /// Counters, in the text format of Prometheus.
    fn metrics(&self) -> PyResult<String> {
        guarded(|| {
            let shared = self.shared()?;
            let (users, requests) = (shared.faces().len(), shared.requests.load(Ordering::Relaxed));
            let mut text = String::new();
            for (name, kind, value) in
                [("users", "gauge", users as u64), ("requests_total", "counter", requests)]
            {
                let _ = write!(text, "# TYPE cellbridge_{name} {kind}\ncellbridge_{name} {value}\n");
            }
            Ok(text)
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
    fn face(&self, user: &str, headers: &[(String, String)]) -> Arc<Face> {
        let mut faces = self.faces();
        if let Some(face) = faces.get(user) {
            face.identity.replace(headers);
            return face.clone();
        }
        let face = Arc::new(Face::new(&self.config, headers, &self.shutdown));
        faces.insert(user.to_owned(), face.clone());
        face
    }

    fn faces(&self) -> MutexGuard<'_, HashMap<String, Arc<Face>>> {
        self.faces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
