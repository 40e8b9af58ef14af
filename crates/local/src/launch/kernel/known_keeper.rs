//! What is known of the keeper of a kernel.

use keeper::{KeeperFolder, KernelFile, KernelPhase, NoGreeting, Welcome, greet, resident_bytes};
use place::{Keeping, KernelState, NotebookPath};

use files::Root;

/// The keeper of a kernel.
#[derive(Debug, Clone)]
pub(crate) struct KnownKeeper {
    pub(crate) folder: KeeperFolder,
    pub(crate) record: KernelFile,
    /// What it said last.
    pub(crate) welcome: Option<Welcome>,
    /// Why it cannot be used, although it lives: it has another version of the program, or does not answer.
    pub(crate) refusal: Option<String>,
    /// Whether an earlier server started it.
    pub(crate) is_from_earlier: bool,
    /// What the kernel's process held in memory then, in bytes.
    pub(crate) memory: Option<u64>,
}

impl KnownKeeper {
    /// One that an earlier server started, and what it says now.
    pub(crate) async fn from_earlier(folder: KeeperFolder, record: KernelFile) -> Self {
        let mut known =
            Self { folder, record, welcome: None, refusal: None, is_from_earlier: true, memory: None };
        known.ask().await;
        known
    }

    /// Asks it how it is.
    pub(super) async fn ask(&mut self) {
        (self.welcome, self.refusal) = match greet(&self.folder, &self.record).await {
            Ok(welcome) => (Some(welcome), None),
            Err(NoGreeting::Refused { cause }) => (None, Some(cause)),
            // Its kernel may work on something: another one must not take its id.
            Err(NoGreeting::Silent) => {
                (None, Some(format!("its keeper (process {}) does not answer", self.record.process)))
            }
            Err(NoGreeting::Absent) => (None, None),
        };
        self.memory = match self.welcome.as_ref().and_then(|welcome| welcome.kernel.process) {
            Some(process) => resident_bytes(process).await,
            None => None,
        };
    }

    /// What the kernel does, as far as the keeper has said.
    pub(super) fn kernel_state(&self) -> KernelState {
        self.welcome.as_ref().map_or(KernelState::NotStarted, kernel_state)
    }

    pub(super) fn keeping(&self, root: &Root) -> Keeping {
        let welcome = self.welcome.as_ref();
        Keeping {
            started_at: self.record.started_at,
            notebook: self
                .record
                .notebook
                .as_ref()
                .and_then(|path| root.relative(path))
                .map(NotebookPath::new),
            last_request: welcome.map_or(self.record.started_at, |welcome| welcome.last_request),
            attached: welcome.map(|welcome| welcome.attached.clone()).unwrap_or_default(),
            is_from_earlier: self.is_from_earlier,
            memory: self.memory,
        }
    }
}

/// What a kernel does, as its keeper says.
pub(crate) fn kernel_state(welcome: &Welcome) -> KernelState {
    match (&welcome.kernel.phase, welcome.kernel.is_busy) {
        (KernelPhase::Starting, _) => KernelState::Starting,
        (KernelPhase::Running, true) => KernelState::Busy,
        (KernelPhase::Running, false) => KernelState::Idle,
        (KernelPhase::Dead { how }, _) => KernelState::Dead { how: how.clone().into() },
    }
}
