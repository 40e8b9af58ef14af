//! The kept kernels of this user, for people.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use kernel::log::{Channel, LoggedRun};
use kernel::{KernelError, input_reply, write_parts};
use notebook::Json;
use place::RunDetails;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

use crate::connection::{self, tell};
use crate::folder::{KeeperFolder, keepers};
use crate::kernel_file::KernelFile;
use crate::log::{LogEntry, logged_runs, read_entries};
use crate::protocol::{ClientFrame, KernelPhase, Welcome};
use crate::resident::resident_bytes;
use crate::state_folder::StateFolder;

/// How long a keeper may take to end its kernel.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A kernel with a keeper, or what a keeper that has ended left of one.
#[derive(Debug, Clone)]
pub struct KeptKernel {
    /// Its id, its notebook, and how its keeper describes it.
    pub record: KernelFile,
    pub state: KeeperState,
    /// When a server last sent it something; `None` if its keeper does not say.
    pub last_request: Option<SystemTime>,
    /// The processes of the servers that are attached.
    pub attached: Vec<u32>,
    /// How many runs of servers that have ended were reported to no agent.
    pub unread_runs: usize,
    /// Its process, while there is one.
    pub process: Option<u32>,
    /// The language that it reported, in lower case.
    pub language: Option<String>,
    /// What the kernel's process holds in memory, in bytes, as far as the system says.
    pub memory: Option<u64>,
    pub folder: KeeperFolder,
}

/// What a kept kernel does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperState {
    Starting,
    Idle,
    Busy,
    /// Its process ended; the keeper lives.
    Dead {
        how: String,
    },
    /// The keeper has ended, and left runs that nobody has read.
    KeeperDead,
    /// The keeper does not answer.
    Silent,
    /// The keeper cannot be used by this version of the program.
    Refused {
        cause: String,
    },
}

/// Why a kernel was not stopped, or a run not interrupted or answered, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopError(pub String);

/// The kept kernels of this user, the oldest first.
pub async fn kept_kernels(state: &StateFolder) -> Vec<KeptKernel> {
    let mut found =
        join_all(keepers(state).into_iter().map(|(folder, record)| KeptKernel::ask(folder, record))).await;
    found.sort_unstable_by_key(|kernel| kernel.record.started_at);
    found
}

fn state_of(Welcome { kernel, .. }: &Welcome) -> KeeperState {
    match &kernel.phase {
        KernelPhase::Starting => KeeperState::Starting,
        KernelPhase::Running if kernel.is_busy => KeeperState::Busy,
        KernelPhase::Running => KeeperState::Idle,
        KernelPhase::Dead { how } => KeeperState::Dead { how: how.clone() },
    }
}

/// Asks a keeper how it is. Fails with the state of one that does not say.
async fn greet(folder: &KeeperFolder, record: &KernelFile) -> Result<Welcome, KeeperState> {
    let absent = || if folder.is_starting(record) { KeeperState::Starting } else { KeeperState::KeeperDead };
    if !record.is_ready() {
        return Err(absent());
    }
    let stream = folder.connect(record).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => absent(),
        _ => KeeperState::Silent,
    })?;
    connection::greet(stream).await.map_err(|error| match error {
        _ if !folder.is_kept() => absent(),
        KernelError::Unusable { cause } => KeeperState::Refused { cause },
        _ => KeeperState::Silent,
    })
}

impl KeptKernel {
    /// Asks its keeper how it is.
    pub async fn ask(folder: KeeperFolder, record: KernelFile) -> Self {
        let (state, welcome) = match greet(&folder, &record).await {
            Ok(welcome) => (state_of(&welcome), Some(welcome)),
            Err(state) => (state, None),
        };
        let process = welcome.as_ref().and_then(|welcome| welcome.kernel.process);
        let memory = match process {
            Some(process) => resident_bytes(process).await,
            None => None,
        };
        let language =
            welcome.as_ref().and_then(|it| it.kernel.language_info["name"].as_str().map(str::to_lowercase));
        Self {
            process,
            language,
            state,
            last_request: welcome.as_ref().map(|welcome| welcome.last_request),
            unread_runs: welcome.as_ref().map(|welcome| welcome.orphans).unwrap_or_default(),
            attached: welcome.map(|welcome| welcome.attached).unwrap_or_default(),
            memory,
            folder,
            record,
        }
    }

    /// Whether its keeper lives and can be used.
    pub fn answers(&self) -> bool {
        self.last_request.is_some()
    }

    /// The folder that holds every notebook whose cells it has run.
    pub fn folder_of_runs(&self) -> PathBuf {
        let notebooks = logged_runs(&self.folder.path)
            .into_iter()
            .filter_map(|run| RunDetails::announced(&run.record.announcement).notebook);
        let folders: Vec<_> =
            notebooks.filter_map(|notebook| Path::new(&*notebook).parent().map(Path::to_path_buf)).collect();
        let is_above = |folder: &&Path| folders.iter().all(|its| its.starts_with(folder));
        let innermost = folders.first().and_then(|first| first.ancestors().find(is_above));
        innermost.unwrap_or(&self.record.folder).to_path_buf()
    }

    /// Passes on what it printed and what happened to it, as far as its keeper still has it, the oldest first, until `each`
    /// fails.
    pub fn read_log(&self, each: impl FnMut(LogEntry) -> io::Result<()>) -> io::Result<()> {
        read_entries(&self.folder.path, each)
    }

    /// Ends it at once, with what runs on it; removes what an ended keeper left. Fails if the keeper does not stop within ten
    /// seconds, or another server reads what it has left.
    pub async fn stop(&self) -> Result<(), StopError> {
        if self.state == KeeperState::KeeperDead {
            let Ok(Some(_lock)) = self.folder.lock() else {
                let cause = "another server is reading its keeper's log; try again after that server stops";
                return Err(StopError(cause.to_owned()));
            };
            self.folder.remove();
            return Ok(());
        }
        let failed =
            |cause: String| StopError(format!("{cause}; end process {} to stop it", self.record.process));
        self.ask_to_end().await.map_err(failed)?;
        let ended = async {
            while self.folder.is_kept() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(STOP_TIMEOUT, ended).await.map_err(|_| failed("its keeper did not stop".to_owned()))?;
        // One that a signal has ended leaves the runs that nobody has read.
        self.folder.remove();
        Ok(())
    }

    /// Sends its keeper a frame.
    pub async fn tell(&self, frame: &ClientFrame) -> Result<(), StopError> {
        let unreachable =
            |error: &dyn std::fmt::Display| StopError(format!("its keeper cannot be reached: {error}"));
        let stream = self.folder.connect(&self.record).await.map_err(|error| unreachable(&error))?;
        tell(stream, frame).await.map_err(|error| unreachable(&error))
    }

    /// The process that listens, or else the one that claims to: another process may have the keeper's former id.
    async fn process_of_keeper(&self) -> Option<Pid> {
        match self.folder.connect(&self.record).await {
            Ok(stream) => stream.peer_cred().ok()?.pid().and_then(Pid::from_raw),
            Err(_) => self.folder.keeper_process(),
        }
    }

    async fn ask_to_end(&self) -> Result<(), String> {
        // Its kernel ends with it.
        let is_silent = self.state == KeeperState::Silent;
        let is_refused = matches!(self.state, KeeperState::Refused { .. });
        if self.record.is_ready() && !is_refused && !is_silent {
            let stream = self.folder.connect(&self.record).await.map_err(|error| error.to_string())?;
            return tell(stream, &ClientFrame::End).await.map_err(|error| error.to_string());
        }
        // It does not listen before the kernel is ready, and every version understands the signal.
        let keeper = self.process_of_keeper().await.ok_or("its process is unknown")?;
        let signal = if is_silent { Signal::KILL } else { Signal::TERM };
        kill_process(keeper, signal).map_err(|error| error.to_string())
    }
}

impl ClientFrame {
    /// The frame that interrupts a run, or withdraws it if it waits for its turn. The run's server learns of it from the kernel, and need not live.
    pub fn interrupt(run: &LoggedRun) -> Result<Self, StopError> {
        let own = || StopError("only the run's own server can cancel it".to_owned());
        Ok(Self::Interrupt { message: Some(run.request().cloned().ok_or_else(own)?) })
    }

    /// The line for which a run waits, as its kernel takes it.
    pub fn answer(run: &LoggedRun, line: String) -> Result<Self, StopError> {
        let failed = |error: &dyn std::fmt::Display| StopError(format!("the line was not sent: {error}"));
        let header = run.input_request.clone().ok_or_else(|| failed(&"the run does not wait for one"))?;
        let header = Json::parse(header).map_err(|error| failed(&error))?;
        let session = uuid::Uuid::new_v4().simple().to_string();
        let parts = write_parts(input_reply(&header, line), &session).map_err(|error| failed(&error))?;
        Ok(Self::Send { channel: Channel::Stdin, parts: parts.into() })
    }
}
