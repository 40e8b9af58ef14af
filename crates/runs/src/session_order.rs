//! The order of one session's runs.
//!
//! A kernel's queue takes runs as their tasks enter it: a series of cells enters one by one, and a task may first have to
//! start the kernel. So that an agent's next run comes after all of its last one, each waits for those that the session
//! requested before it of the same notebook or kernel. Runs of other sessions, and of other notebooks, do not wait.

use parking_lot::Mutex;
use place::{KernelId, NotebookPath};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a session runs code in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunTarget {
    Notebook(NotebookPath),
    Kernel(KernelId),
    /// The kernel for code of no notebook.
    Default,
}

/// The unfinished requests of a session.
#[derive(Default)]
pub struct SessionOrder(Mutex<Vec<(RunTarget, CancellationToken)>>);

/// The place of one request among those of its session. Later ones wait until it is dropped.
pub struct InLine {
    earlier: Vec<CancellationToken>,
    _done: DropGuard,
}

impl SessionOrder {
    /// The place of a request that is made now.
    pub fn line_up(&self, targets: &[RunTarget]) -> InLine {
        let done = CancellationToken::new();
        let mut requests = self.0.lock();
        requests.retain(|(_, done)| !done.is_cancelled());
        let is_same = |target: &&(RunTarget, _)| targets.contains(&target.0);
        let earlier = requests.iter().filter(is_same).map(|(_, done)| done.clone()).collect();
        requests.extend(targets.iter().map(|target| (target.clone(), done.clone())));
        InLine { earlier, _done: done.drop_guard() }
    }
}

impl InLine {
    /// Whether nothing precedes it.
    pub fn is_first(&self) -> bool {
        self.earlier.iter().all(CancellationToken::is_cancelled)
    }

    /// Waits until all that precedes it is done.
    pub async fn wait(&self) {
        for earlier in &self.earlier {
            earlier.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn notebook(path: &str) -> RunTarget {
        RunTarget::Notebook(path.into())
    }

    #[test]
    fn requests_of_one_notebook_or_kernel_wait_for_each_other() {
        let order = SessionOrder::default();
        let kernel = RunTarget::Kernel("k".into());
        let first = order.line_up(&[notebook("a.ipynb"), kernel.clone()]);
        let elsewhere = order.line_up(&[notebook("b.ipynb")]);
        let same_notebook = order.line_up(&[notebook("a.ipynb")]);
        let same_kernel = order.line_up(&[kernel]);
        let is_free = |in_line: &InLine| (in_line.is_first(), in_line.wait().now_or_never().is_some());
        assert_eq!([&first, &elsewhere].map(is_free), [(true, true); 2]);
        assert_eq!([&same_notebook, &same_kernel].map(is_free), [(false, false); 2]);
        drop(first);
        assert_eq!([&same_notebook, &same_kernel].map(is_free), [(true, true); 2]);
    }

    #[test]
    fn what_is_done_is_forgotten() {
        let order = SessionOrder::default();
        drop(order.line_up(&[RunTarget::Default]));
        let _next = order.line_up(&[RunTarget::Default]);
        assert_eq!(order.0.lock().len(), 1);
    }
}
