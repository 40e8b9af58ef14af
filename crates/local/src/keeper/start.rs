//! Starts keepers, and what a keeper's process does from its first line on.
//!
//! | process | does |
//! |---|---|
//! | the server | starts the second, and gives it on its standard input what to keep |
//! | `keep --detach` | starts the third with the same standard input and output, and ends: the keeper has no parent |
//! | `keep` | leaves the session of the server, reads what to keep, starts the kernel, says how that went, and keeps it |
//!
//! If the server's end of the input is closed before the kernel is ready, the kernel is no longer wanted.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kernel::keeper::{FramedRead, FramedWrite, KernelSockets};
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use workspace::{Error, ErrorKind, KernelId};

use super::folder::{FolderLock, KeeperFolder, KernelRecord};
use super::keep::{Keep, Settling};
use super::lifetime::Lifetimes;
use crate::ProcessEnv;
use crate::environment::KernelChoice;
use crate::launch::{KernelLauncher, Started};

/// What a keeper is to keep.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeepSpec {
    pub(crate) folder: PathBuf,
    pub(crate) id: String,
    pub(crate) choice: KernelChoice,
    pub(crate) working_folder: PathBuf,
    pub(crate) notebook: Option<PathBuf>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) start_timeout: Duration,
    pub(crate) lifetimes: Lifetimes,
    /// What stores runs that end while no server is attached.
    pub(crate) program: PathBuf,
}

/// How the start of a kernel went.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ready,
    Failed { cause: String, next: String },
}

/// Starts a keeper, and waits until its kernel is ready. If this is dropped before, the kernel ends.
pub(crate) async fn start(program: &Path, process_env: &ProcessEnv, spec: &KeepSpec) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let cause = format!("The process that keeps the kernel cannot be started: {error}.");
        Error::new(
            ErrorKind::KernelStart,
            cause,
            "Check that processes can be started, or start this program \
            without keeping kernels.",
        )
    };
    let mut command = Command::new(program);
    command.args(["keep", "--detach"]).env_clear().envs(&process_env.variables).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(failed)?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed(io::ErrorKind::BrokenPipe.into()));
    };
    let spec = serde_json::to_vec(spec).map_err(|error| failed(error.into()))?;
    // Kept until the answer is here: its end means that the kernel is no longer wanted.
    let mut input = FramedWrite::new(input);
    input.send(&spec).await.map_err(failed)?;
    child.wait().await.map_err(failed)?;
    let answer = FramedRead::new(output).receive().await.map_err(failed)?;
    let answer = answer.ok_or_else(|| failed(io::Error::other("it ended at once")))?;
    match serde_json::from_slice(&answer).map_err(|error| failed(error.into()))? {
        Answer::Ready => Ok(()),
        Answer::Failed { cause, next } => Err(Error::new(ErrorKind::KernelStart, cause, next)),
    }
}

/// The process between server and keeper: starts `program keep` and does not wait for it.
pub fn detach(program: &Path) -> io::Result<()> {
    let mut command = std::process::Command::new(program);
    command.arg("keep").stderr(Stdio::null());
    command.spawn().map(drop)
}

/// The keeper's process: reads from its standard input what to keep, and keeps it.
pub async fn keep_from_stdin() -> io::Result<()> {
    // No signal to the session or process group of whoever started this reaches it from here on.
    rustix::process::setsid()?;
    let input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut input = FramedRead::new(input);
    let spec = input.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let spec: KeepSpec = serde_json::from_slice(&spec)?;
    let mut output =
        FramedWrite::new(pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?);
    let folder = KeeperFolder { path: spec.folder.clone() };
    let started = tokio::select! {
        started = begin(&spec, &folder) => started,
        _ = input.receive() => {
            // The kernel's process ended with the future that was starting it.
            folder.remove();
            return Ok(());
        }
    };
    let (mut keep, listener) = match started {
        Ok(started) => started,
        Err(error) => {
            folder.remove();
            let answer = Answer::Failed { cause: error.cause.clone(), next: error.next.to_string() };
            return output.send(&serde_json::to_vec(&answer)?).await;
        }
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let is_wanted = output.send(&serde_json::to_vec(&Answer::Ready)?).await.is_ok();
    drop((input, output));
    leave_standard_streams()?;
    let ending = if is_wanted {
        let terminated = async {
            terminate.recv().await;
        };
        keep.run(Some(&listener), terminated).await
    } else {
        super::keep::Ending::Asked
    };
    keep.end(ending).await;
    Ok(())
}

/// Starts the kernel and listens for clients.
async fn begin(spec: &KeepSpec, folder: &KeeperFolder) -> Result<(Keep, UnixListener), Error> {
    let failed = |error: io::Error| {
        let cause = format!("The folder for the kernel cannot be used ({}): {error}.", folder.path.display());
        Error::new(ErrorKind::KernelStart, cause, "Make that folder writable.")
    };
    let lock = folder.lock().map_err(failed)?.ok_or_else(|| failed(io::ErrorKind::AddrInUse.into()))?;
    let process_env =
        ProcessEnv { variables: spec.variables.iter().cloned().collect(), home: spec.home.clone() };
    let launcher = Arc::new(KernelLauncher {
        id: KernelId::new(spec.id.clone()),
        choice: spec.choice.clone(),
        folder: spec.working_folder.clone(),
        notebook: spec.notebook.clone(),
        process_env: Arc::new(process_env),
        start_timeout: spec.start_timeout,
    });
    let kernel: Started<KernelSockets> = launcher.start().await?;
    open(spec, (folder.clone(), lock), launcher, kernel).map_err(failed)
}

fn open(
    spec: &KeepSpec,
    (folder, lock): (KeeperFolder, FolderLock),
    launcher: Arc<KernelLauncher>,
    kernel: Started<KernelSockets>,
) -> io::Result<(Keep, UnixListener)> {
    let (listener, socket) = folder.listen(&launcher.process_env)?;
    let record = KernelRecord {
        id: spec.id.clone(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        choice: spec.choice.clone(),
        folder: spec.working_folder.clone(),
        notebook: spec.notebook.clone(),
        started_at: SystemTime::now(),
        process: std::process::id(),
        socket,
    };
    let settling = Settling::with(spec.program.clone());
    let keep = Keep::of_kernel((folder.clone(), lock), launcher, kernel, spec.lifetimes, settling)?;
    folder.set_record(&record)?;
    Ok((keep, listener))
}

/// From here on nobody waits for what this process prints, and nothing it holds belongs to whoever started it.
fn leave_standard_streams() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
