//! A kernel where none is kept: it ends with this program.

use std::future::ready;
use std::sync::atomic::Ordering;

use kernel::KernelError;
use place::{Error, Keeping, KernelState, Orphan, RunDetails, RunId};

use super::{LocalKernel, State};
use crate::launch::running::RunningKernel;
use crate::root::Root;

/// How kernels are kept when this program ends, which none is here.
#[derive(Debug, Clone)]
pub enum KernelKeeping {}

/// The keeper of a kernel, which none has here.
#[derive(Debug, Clone)]
pub(super) enum KnownKeeper {}

impl KnownKeeper {
    pub(super) fn kernel_state(&self) -> KernelState {
        match *self {}
    }

    pub(super) fn keeping(&self, _root: &Root) -> Keeping {
        match *self {}
    }
}

/// The runs that a keeper is to know of.
#[derive(Default)]
pub(super) struct Waiting;

impl LocalKernel {
    /// Connects to nothing.
    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(crate) fn join(&self) -> impl Future<Output = Result<(), KernelError>> + use<> {
        ready(Ok(()))
    }

    pub(super) async fn start_process(&self, _restart: bool) -> Result<RunningKernel, Error> {
        Ok(RunningKernel::Own(Box::new(self.launcher.start().await?)))
    }

    pub(crate) fn notify_of_unused(&self, cause: &str) {
        self.state.lock().notices.push(cause.to_owned());
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn announce_run(&self, _note: &RunDetails) {}

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn retract_run(&self, _run: &RunId) {}

    pub(super) fn announce_waiting(state: &mut State, _running: &RunningKernel) {
        state.waiting = Waiting;
    }

    pub(crate) async fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        self.end_process().await;
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn end_keeper(&self) -> impl Future<Output = ()> + use<> {
        ready(())
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn has_other_servers(&self) -> impl Future<Output = bool> + Send + use<> {
        ready(false)
    }

    pub(super) fn adopted(&self) -> impl Future<Output = Vec<Orphan>> + Send + use<> {
        ready(std::mem::take(&mut self.state.lock().orphans))
    }
}
