//! Futures of Python's `asyncio` that tasks of ours complete.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::runtime;

/// What becomes of a future once its loop has time.
type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Runs `work` in a task, which ends if the future is cancelled; `show` makes an object of what came out.
pub(crate) fn spawn<'py, T: Send + 'static>(
    event_loop: &Bound<'py, PyAny>,
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    show: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let future = event_loop.call_method0("create_future")?;
    let promise = Promise::new(event_loop, &future);
    let task = runtime.spawn(async move {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(value) => promise.keep(Box::new(move |py| show(py, value))),
            Err(panic) => promise.keep(Box::new(move |_| Err(failure(&*panic)))),
        }
    });
    future.call_method1("add_done_callback", (Abandon(task.abort_handle()),))?;
    Ok(future)
}

/// A future that is `None` already.
pub(crate) fn none<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let future = event_loop.call_method0("create_future")?;
    future.call_method1("set_result", (event_loop.py().None(),))?;
    Ok(future)
}

/// Calls `work`; a panic becomes an exception that programs expect.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(failure(&*panic)))
}

fn failure(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text =
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
    PyRuntimeError::new_err(format!("cellbridge failed: {text}"))
}

/// A future that somebody waits for. It is completed even if the task that should have done it is gone.
struct Promise(Option<Waiting>);

struct Waiting {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

impl Promise {
    fn new(event_loop: &Bound<'_, PyAny>, future: &Bound<'_, PyAny>) -> Self {
        Self(Some(Waiting { event_loop: event_loop.clone().unbind(), future: future.clone().unbind() }))
    }

    fn keep(mut self, outcome: Outcome) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: Outcome) {
        let Some(Waiting { event_loop, future }) = self.0.take() else { return };
        // There is nobody left to tell where the interpreter is going down, or the loop is closed.
        Python::try_attach(|py| {
            let settle = Settle { future, outcome: Mutex::new(Some(outcome)) };
            let _ = event_loop.call_method1(py, "call_soon_threadsafe", (settle,));
            drop(event_loop);
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.settle(Box::new(|_| Err(PyRuntimeError::new_err("cellbridge dropped the request"))));
    }
}

/// What the loop calls: futures may be completed on its thread only.
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
        let Some(outcome) = self.outcome() else { return Ok(()) };
        match guarded(|| outcome(py)) {
            Ok(value) => future.call_method1("set_result", (value,))?,
            Err(error) => future.call_method1("set_exception", (error,))?,
        };
        Ok(())
    }
}

impl Settle {
    fn outcome(&self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        // Nobody wanted it; it may hold a stream.
        runtime::release(self.outcome());
    }
}

/// Ends the task of a future that is done: it may have been cancelled.
#[pyclass(frozen)]
struct Abandon(AbortHandle);

#[pymethods]
impl Abandon {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
