//! The runtime of the process. It starts on first use, not when Python imports the module, and is never dropped: a
//! forked child has none of its threads and would wait for them forever.

use std::sync::OnceLock;

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use tokio::runtime::{Builder, Handle, Runtime};

/// Enough: each kernel connection has a thread of its own.
const WORKERS: usize = 2;

static STARTED: OnceLock<Result<Started, String>> = OnceLock::new();

struct Started {
    runtime: Runtime,
    process: u32,
}

/// The runtime, started on first use.
pub(crate) fn start() -> PyResult<&'static Handle> {
    let started = STARTED.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(WORKERS).thread_name("cellbridge").enable_all();
        let runtime = builder.build().map_err(|error| error.to_string())?;
        Ok(Started { runtime, process: std::process::id() })
    });
    match started {
        Ok(started) if started.process == std::process::id() => Ok(started.runtime.handle()),
        Ok(_) => Err(PyRuntimeError::new_err(
            "cellbridge was started in another process, which forked this one; start the Jupyter server here instead",
        )),
        Err(reason) => {
            Err(PyRuntimeError::new_err(format!("cellbridge could not start its threads: {reason}")))
        }
    }
}

/// The runtime, if this process has started it.
pub(crate) fn running() -> Option<&'static Handle> {
    match STARTED.get() {
        Some(Ok(started)) if started.process == std::process::id() => Some(started.runtime.handle()),
        _ => None,
    }
}

/// Drops a value that belongs to the runtime. A forked child leaks it: its locks may be held by threads that do not
/// exist there.
pub(crate) fn release<T>(value: T) {
    match (running(), STARTED.get()) {
        (Some(runtime), _) => {
            let _entered = runtime.enter();
            drop(value);
        }
        (None, None) => drop(value),
        (None, Some(_)) => std::mem::forget(value),
    }
}
