//! The kernels of a place where no log of another program can be read: a page cannot see those of other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use environments::ProcessEnv;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use page::{Machine, SeenKernel};
use place::{Error, ErrorKind, Future, Place, RunId};

/// The kernels of a folder.
pub fn of_folder(_root: &Path, _process_env: &ProcessEnv) -> Arc<dyn Machine> {
    Arc::new(Unseen)
}

/// The kernels of a Jupyter server.
pub fn of_server(_place: Arc<dyn Place>, _run_logs: Option<PathBuf>) -> Arc<dyn Machine> {
    Arc::new(Unseen)
}

struct Unseen;

impl Machine for Unseen {
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        std::future::ready(Vec::new()).boxed()
    }

    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        std::future::ready(Err(unknown(run))).boxed()
    }

    fn answer_input(&self, run: &RunId, _line: String) -> Future<'_, ()> {
        std::future::ready(Err(unknown(run))).boxed()
    }
}

fn unknown(run: &RunId) -> Error {
    let cause = format!("Run {run} cannot be reached: on this system only its own server has access.");
    Error::new(ErrorKind::Unsupported, cause, "Ask the agent to interrupt or answer it.")
}
