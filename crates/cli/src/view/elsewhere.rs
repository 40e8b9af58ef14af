//! The kernels of a folder where no kernel outlives its server: a page cannot see those of other programs.

use std::path::Path;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use local::ProcessEnv;
use page::{Machine, SeenKernel};
use place::{Error, ErrorKind, Future, RunId};

pub(crate) struct FolderMachine;

impl FolderMachine {
    pub(crate) fn new(_root: &Path, _process_env: &ProcessEnv) -> Self {
        Self
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
