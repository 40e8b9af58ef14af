//! The one runtime of the process. It starts when it is first needed, not when Python imports the module, and is never
//! dropped: a forked child, which has none of its threads, would wait for them.

use std::sync::OnceLock;

use pyo3::PyErr;
use pyo3::exceptions::PyRuntimeError;
use tokio::runtime::{Builder, Handle, Runtime};

/// The rest of the work is done by the threads of the kernels' connections.
const WORKERS: usize = 2;

static STARTED: OnceLock<Result<Started, String>> = OnceLock::new();

struct Started {
    runtime: Runtime,
    process: u32,
}

/// Why nothing can run here.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error(
        "cellbridge was started in another process, which forked this one; start the Jupyter server here instead"
    )]
    Forked,
    #[error("cellbridge could not start its threads: {0}")]
    Failed(String),
}

impl From<Unavailable> for PyErr {
    fn from(reason: Unavailable) -> Self {
        PyRuntimeError::new_err(reason.to_string())
    }
}

/// The runtime, which is started if need be.
pub(crate) fn start() -> Result<&'static Handle, Unavailable> {
    let started = STARTED.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(WORKERS).thread_name("cellbridge").enable_all();
        let runtime = builder.build().map_err(|error| error.to_string())?;
        Ok(Started { runtime, process: std::process::id() })
    });
    match started {
        Ok(started) if started.process == std::process::id() => Ok(started.runtime.handle()),
        Ok(_) => Err(Unavailable::Forked),
        Err(reason) => Err(Unavailable::Failed(reason.clone())),
    }
}

/// The runtime, if it was started, and in this process.
pub(crate) fn running() -> Option<&'static Handle> {
    match STARTED.get() {
        Some(Ok(started)) if started.process == std::process::id() => Some(started.runtime.handle()),
        _ => None,
    }
}

/// Drops what belongs to the runtime. A forked child keeps it: the locks in there may be held for ever.
pub(crate) fn release<T>(belonging: T) {
    match (running(), STARTED.get()) {
        (Some(runtime), _) => {
            let _entered = runtime.enter();
            drop(belonging);
        }
        (None, None) => drop(belonging),
        (None, Some(_)) => std::mem::forget(belonging),
    }
}
