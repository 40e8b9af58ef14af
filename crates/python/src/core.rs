//! The object that the extension holds: answers requests, and keeps the state of each caller.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use calls::permissions::Permissions;
use futures_util::future::join_all;
use mcp::{Metrics, PageFiles};
use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::callers::{Caller, Callers};
use crate::config::Config;
use crate::future::{self, guarded};
use crate::http::{self, Answer};
use crate::managers::{Callbacks, Managers};
use crate::socket_session::SocketSession;
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
    callbacks: Arc<Callbacks>,
    callers: Mutex<Callers<User>>,
    shutdown: CancellationToken,
    metrics: Arc<Metrics>,
    files: PageFiles,
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
                callbacks: Arc::new(Callbacks { connection, file, kernels }),
                callers: Mutex::default(),
                shutdown: CancellationToken::new(),
                metrics: Arc::default(),
                files: PageFiles::default(),
            }))))
        })
    }

    /// A future of `(status, headers, body, Stream or None)`. `credential` is a key for what `user` was recognised by; `may` says whether the user may read, write, execute, and
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
        credential: &str,
        may: (bool, bool, bool, bool),
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let shared = self.running()?;
            let runtime = runtime::start()?;
            let request = http::request(method, path, &headers, Bytes::from_owner(body))?;
            // A browser asks for them without its XSRF token, which must not take the place of the other requests' headers.
            if let Some(answer) = shared.files.answer(&request) {
                let answer = async move { Answer::collect(answer.await).await };
                return pass_on(event_loop, runtime, answer, shared.shutdown.clone());
            }
            let caller = Caller { user: user.to_owned(), credential: credential.to_owned(), may };
            let user = {
                let _entered = runtime.enter();
                shared.user(caller, &headers, event_loop)?
            };
            let may = permissions(may);
            let answer = async move { Answer::collect(user.embedded.answer(request, may).await).await };
            pass_on(event_loop, runtime, answer, shared.shutdown.clone())
        })
    }

    /// A session for a WebSocket whose handshake had these headers; `None` if there are as many as there may be. The rest as for `answer`.
    #[expect(clippy::needless_pass_by_value, reason = "Python's arguments arrive by value")]
    fn open_socket(
        &self,
        event_loop: &Bound<'_, PyAny>,
        headers: Vec<(String, String)>,
        user: &str,
        credential: &str,
        may: (bool, bool, bool, bool),
    ) -> PyResult<Option<SocketSession>> {
        guarded(|| {
            let shared = self.running()?;
            let _entered = runtime::start()?.enter();
            let caller = Caller { user: user.to_owned(), credential: credential.to_owned(), may };
            let user = shared.user(caller, &headers, event_loop)?;
            Ok(user.embedded.open_socket(permissions(may)).map(SocketSession::new))
        })
    }

    /// `(users, sessions, active runs, [(tool, answered, failed, abandoned, seconds)])`.
    fn metrics(&self) -> PyResult<Counts> {
        guarded(|| {
            let shared = self.shared()?;
            let (users, states) = {
                let callers = shared.callers.lock();
                (callers.count_users(), callers.all())
            };
            let runs = states.iter().map(|user| user.active_runs()).sum();
            let calls = shared.metrics.calls().into_iter();
            let calls =
                calls.map(|(tool, it)| (tool, it.answered, it.failed, it.abandoned, it.time.as_secs_f64()));
            Ok((users, shared.metrics.sessions(), runs, calls.collect()))
        })
    }

    /// A future that completes when streams, runs and workspaces have ended.
    fn close<'py>(&self, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let Some(runtime) = runtime::running() else { return future::none(event_loop) };
            let shared = self.shared()?;
            shared.shutdown.cancel();
            let users = std::mem::take(&mut *shared.callers.lock()).all();
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

    /// Fails after the server's shutdown has begun.
    fn running(&self) -> PyResult<&Arc<Shared>> {
        let is_running = |shared: &&Arc<Shared>| !shared.shutdown.is_cancelled();
        let running = self.0.as_ref().filter(is_running);
        running.ok_or_else(|| PyRuntimeError::new_err("cellbridge is shut down"))
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

fn permissions((read, write, execute, _): (bool, bool, bool, bool)) -> Permissions {
    Permissions { read, write, execute }
}

/// A future of the answer for Python.
fn pass_on<'py>(
    event_loop: &Bound<'py, PyAny>,
    runtime: &Handle,
    answer: impl Future<Output = Result<Answer, axum::Error>> + Send + 'static,
    shutdown: CancellationToken,
) -> PyResult<Bound<'py, PyAny>> {
    future::spawn(event_loop, runtime, answer, move |py, answer| match answer {
        Ok(answer) => answer.into_python(py, &shutdown),
        Err(error) => Err(PyRuntimeError::new_err(format!("the answer was cut off: {error}"))),
    })
}

impl Shared {
    /// The state of a caller, whose requests to the server carry `headers` from now on. Fails if the user has too many. Call it within
    /// the runtime.
    fn user(
        self: &Arc<Self>,
        caller: Caller,
        headers: &[(String, String)],
        event_loop: &Bound<'_, PyAny>,
    ) -> PyResult<Arc<User>> {
        let mut callers = self.callers.lock();
        if let Some(user) = callers.get(&caller) {
            user.identity.replace(headers);
            return Ok(user);
        }
        let unused = callers.make_room(&caller.user, User::is_unused);
        if let Some(unused) = unused.map_err(|error| PyRuntimeError::new_err(error.to_string()))? {
            tokio::spawn(async move { unused.workspace.shutdown().await });
        }
        let (_, _, _, sees_kernels) = caller.may;
        let managers = Managers::new(event_loop, self.callbacks.clone(), sees_kernels);
        let (this, name, may) = (Arc::downgrade(self), caller.user.clone(), permissions(caller.may));
        let runs = Box::new(move || {
            let users = this.upgrade().map(|this| this.callers.lock().of_user(&name)).unwrap_or_default();
            users.iter().map(|user| user.workspace.journal().runs()).collect()
        });
        let metrics = self.metrics.clone();
        let user = Arc::new(User::new(&self.config, headers, may, managers, runs, metrics, &self.shutdown));
        callers.insert(caller, user.clone());
        Ok(user)
    }
}
