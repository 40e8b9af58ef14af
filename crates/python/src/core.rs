//! The object that the extension holds: answers requests, and keeps the state of each user.

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
use crate::future::{self, guarded};
use crate::http::{self, Answer};
use crate::managers::{Callbacks, Managers};
use crate::user::User;
use crate::{logging, runtime};

/// Time limit for shutdown. Jupyter Server waits for it before it ends its kernels.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for sending the last spans to a collector.
const SPANS_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers the requests of one Jupyter server's users.
#[pyclass(frozen, module = "cellbridge._native")]
pub struct Core(Option<Arc<Shared>>);

struct Shared {
    config: Config,
    callbacks: Callbacks,
    users: Mutex<HashMap<String, Arc<User>>>,
    shutdown: CancellationToken,
    metrics: Arc<Metrics>,
}

/// Users, sessions, runs, and for each tool its calls.
type Counts = (usize, u64, usize, Vec<(&'static str, u64, u64, u64, f64)>);

#[pymethods]
impl Core {
    /// `config` is JSON. The callbacks run on the server's event loop: `connection` takes a kernel's id and returns the
    /// text of its connection file, `file` takes a path below the server's root and returns that of the file, and
    /// `kernels` ignores its argument and returns the server's list of kernels as JSON. Each returns `None` where only
    /// the server has access. Starts nothing.
    #[new]
    fn new(config: &str, connection: Py<PyAny>, file: Py<PyAny>, kernels: Py<PyAny>) -> PyResult<Self> {
        guarded(|| {
            let config: Config = serde_json::from_str(config)
                .map_err(|error| PyValueError::new_err(format!("cellbridge's configuration: {error}")))?;
            logging::start(config.otel_file.clone().map(Into::into))?;
            Ok(Self(Some(Arc::new(Shared {
                config,
                callbacks: Callbacks { connection, file, kernels },
                users: Mutex::default(),
                shutdown: CancellationToken::new(),
                metrics: Arc::default(),
            }))))
        })
    }

    /// A future of `(status, headers, body, Stream or None)`. `may` says whether the user may read, write, execute, and
    /// see kernels. Cancel the future when the client has disconnected.
    #[expect(clippy::too_many_arguments, reason = "a request has this many parts")]
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
                return Err(PyRuntimeError::new_err("cellbridge is shut down"));
            }
            let request = http::request(method, path, &headers, Bytes::from_owner(body))?;
            let user = {
                let _entered = runtime.enter();
                shared.user(user, &headers, event_loop)
            };
            let (read, write, execute, sees_kernels) = may;
            user.managers.let_see_kernels(sees_kernels);
            let may = Permissions { read, write, execute };
            let shutdown = shared.shutdown.clone();
            let answer = async move { Answer::collect(user.embedded.answer(request, may).await).await };
            future::spawn(event_loop, runtime, answer, move |py, answer| match answer {
                Ok(answer) => answer.into_python(py, &shutdown),
                Err(error) => Err(PyRuntimeError::new_err(format!("the answer was cut off: {error}"))),
            })
        })
    }

    /// `(users, sessions, active runs, [(tool, answered, failed, abandoned, seconds)])`.
    fn metrics(&self) -> PyResult<Counts> {
        guarded(|| {
            let shared = self.shared()?;
            let users: Vec<_> = shared.users().values().cloned().collect();
            let is_active = |run: &Arc<workspace::Run>| !run.state().is_over();
            let runs =
                users.iter().flat_map(|user| user.workspace.journal().runs()).filter(is_active).count();
            let calls = shared.metrics.calls().into_iter();
            let calls =
                calls.map(|(tool, it)| (tool, it.answered, it.failed, it.abandoned, it.time.as_secs_f64()));
            Ok((users.len(), shared.metrics.sessions(), runs, calls.collect()))
        })
    }

    /// A future that completes when streams, runs and workspaces have ended.
    fn close<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let Some(runtime) = runtime::running() else { return future::none(event_loop) };
            let shared = self.shared()?;
            shared.shutdown.cancel();
            let users: Vec<_> = shared.users().drain().map(|(_, user)| user).collect();
            let closing = async move {
                let closed = join_all(users.iter().map(|user| user.workspace.shutdown()));
                if tokio::time::timeout(SHUTDOWN_TIMEOUT, closed).await.is_err() {
                    tracing::warn!("runs did not end within the time limit for shutdown");
                }
                for user in &users {
                    user.workspace.runner().end_spans();
                }
                if let Some(telemetry) = logging::telemetry() {
                    let flushed = tokio::task::spawn_blocking(|| telemetry.flush());
                    let _ = tokio::time::timeout(SPANS_TIMEOUT, flushed).await;
                }
            };
            future::spawn(event_loop, runtime, closing, |py, ()| Ok(py.None()))
        })
    }
}

impl Core {
    fn shared(&self) -> PyResult<&Arc<Shared>> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("cellbridge is shut down"))
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
    /// The state of a user, whose requests to the server carry `headers` from now on.
    fn user(&self, name: &str, headers: &[(String, String)], event_loop: &Bound<'_, PyAny>) -> Arc<User> {
        let mut users = self.users();
        if let Some(user) = users.get(name) {
            user.identity.replace(headers);
            return user.clone();
        }
        let managers = Managers::new(event_loop, &self.callbacks);
        let user = Arc::new(User::new(&self.config, headers, managers, self.metrics.clone(), &self.shutdown));
        users.insert(name.to_owned(), user.clone());
        user
    }

    fn users(&self) -> MutexGuard<'_, HashMap<String, Arc<User>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
