//! The kernels of a place where no log of another program can be read: a page cannot see those of other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use local::ProcessEnv;
use page::{Machine, SeenKernel};
use place::{Error, ErrorKind, Future, Place, RunId};

/// Of a folder.
pub(crate) struct FolderMachine;

impl FolderMachine {
    pub(crate) fn new(_root: &Path, _process_env: &ProcessEnv) -> Self {
        Self
    }
}

/// Of a Jupyter server.
pub(crate) struct ServerMachine;

impl ServerMachine {
    pub(crate) fn new(_place: Arc<dyn Place>, _run_logs: Option<PathBuf>) -> FolderMachine {
        FolderMachine
    }
}

impl Machine for FolderMachine {
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
    let cause = format!("Run {run} is not known here: on this system only its own server sees it.");
    Error::new(ErrorKind::Unsupported, cause, "Ask the agent to interrupt or answer it.")
}
