//! Reports of a kernel's keeper, in the terms of a place.

use keeper::{KeeperState, KeptKernel};
use place::{Keeping, KernelState, NotebookPath};

use files::Root;

/// The reason why a kernel cannot be used although its keeper lives: the keeper has another version of the program, or does not answer.
pub(crate) fn refusal(kept: &KeptKernel) -> Option<String> {
    match &kept.state {
        KeeperState::Refused { cause } => Some(cause.clone()),
        // Its kernel may work on something: another one must not take its id.
        KeeperState::Silent => Some(format!("its keeper (process {}) does not answer", kept.record.process)),
        _ => None,
    }
}

pub(super) fn keeping(kept: &KeptKernel, is_from_earlier: bool, root: &Root) -> Keeping {
    let notebook = kept.record.notebook.as_ref().and_then(|path| root.relative(path));
    Keeping {
        started_at: kept.record.started_at,
        notebook: notebook.map(NotebookPath::new),
        last_request: kept.last_request.unwrap_or(kept.record.started_at),
        attached: kept.attached.clone(),
        is_from_earlier,
        memory: kept.memory,
    }
}

/// The state of a kernel, as far as its keeper reports it.
pub(crate) fn kernel_state(kept: &KeptKernel) -> KernelState {
    match &kept.state {
        _ if !kept.answers() => KernelState::NotStarted,
        KeeperState::Busy => KernelState::Busy,
        KeeperState::Idle => KernelState::Idle,
        KeeperState::Dead { how } => KernelState::Dead { how: how.clone().into() },
        _ => KernelState::Starting,
    }
}
