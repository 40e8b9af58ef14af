//! Futures of Python's `asyncio` that our tasks complete.
//!
//! `pyo3-async-runtimes` does the same on a global runtime, and does not notice that a process was forked: there the
//! runtime has no threads, and its locks may be held forever. `runtime` refuses to work in a forked process.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::runtime;

/// Produces the result of a future, on its event loop's thread.
type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Runs `work` in a task, which ends if the future is cancelled; `convert` makes a Python object of the result.
pub(crate) fn spawn<'py, T: Send + 'static>(
    event_loop: &Bound<'py, PyAny>,
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let future = event_loop.call_method0("create_future")?;
    let mut promise = Promise::new(event_loop, &future);
    let task = runtime.spawn(async move {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(value) => promise.complete(Box::new(move |py| convert(py, value))),
            Err(panic) => promise.complete(Box::new(move |_| Err(failure(&*panic)))),
        }
    });
    future.call_method1("add_done_callback", (Abandon(task.abort_handle()),))?;
    Ok(future)
}

/// A future that is already `None`.
pub(crate) fn none<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let future = event_loop.call_method0("create_future")?;
    future.call_method1("set_result", (event_loop.py().None(),))?;
    Ok(future)
}

/// Calls `work`; a panic becomes a `RuntimeError`.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(failure(&*panic)))
}

fn failure(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text =
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
    PyRuntimeError::new_err(format!("cellbridge failed: {text}"))
}

/// Completes a Python future exactly once. Dropped without a result, as when the task is cancelled, it completes the future with
/// an error.
struct Promise(Option<Pending>);

struct Pending {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

impl Promise {
    fn new(event_loop: &Bound<'_, PyAny>, future: &Bound<'_, PyAny>) -> Self {
        Self(Some(Pending { event_loop: event_loop.clone().unbind(), future: future.clone().unbind() }))
    }

    fn complete(&mut self, outcome: Outcome) {
        let Some(Pending { event_loop, future }) = self.0.take() else { return };
        // Nobody waits any longer if the interpreter is shutting down or the loop is closed.
        Python::try_attach(|py| {
            let settle = Settle { future, outcome: Mutex::new(Some(outcome)) };
            let _ = event_loop.call_method1(py, "call_soon_threadsafe", (settle,));
            drop(event_loop);
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.complete(Box::new(|_| Err(PyRuntimeError::new_err("cellbridge dropped the request"))));
    }
}

/// The loop's callback: a future may be completed only on its loop's thread.
#[pyclass(frozen)]
struct Settle {
    future: Py<PyAny>,
    outcome: Mutex<Option<Outcome>>,
}

#[pymethods]
impl Settle {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let future = self.future.bind(py);
        if future.call_method0("done")?.is_truthy()? {
            return Ok(());
        }
        let Some(outcome) = self.outcome.lock().take() else { return Ok(()) };
        match guarded(|| outcome(py)) {
            Ok(value) => future.call_method1("set_result", (value,))?,
            Err(error) => future.call_method1("set_exception", (error,))?,
        };
        Ok(())
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        // The result was not used; it may hold a stream.
        runtime::release(self.outcome.get_mut().take());
    }
}

/// Called when a future is done, perhaps because it was cancelled: ends its task.
#[pyclass(frozen)]
struct Abandon(AbortHandle);

#[pymethods]
impl Abandon {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
