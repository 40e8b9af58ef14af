//! Starts keepers, and what a keeper's process does from its first line on.
//!
//! | process | does |
//! |---|---|
//! | the server | starts the second, and gives it on its standard input what to keep |
//! | `keep --detach` | starts the third with the same standard input and output, and ends: the keeper has no parent |
//! | `keep` | leaves the session of the server, reads what to keep, starts the kernel, says how that went, and keeps it |
//!
//! The second is not in the server's process group, which clients kill as a whole. The server says at once which runs wait for
//! the kernel, and meanwhile which others do. If its end of the input is closed before the kernel is ready, the
//! kernel is no longer wanted, and what the next server has to tell of these runs stays in the folder.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kernel::keeper::{ClientFrame, FramedRead, FramedWrite, KernelSockets, Note, VERSION};
use place::{Error, ErrorKind, KernelId};
use serde::{Deserialize, Serialize};
use tokio::net::unix::pipe;
use tokio::process::{ChildStdin, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::folder::{KeeperFolder, KernelFile};
use super::keep::{Ending, Keeper, Settling};
use super::lifetime::Lifetimes;
use crate::ProcessEnv;
use crate::environment::KernelChoice;
use crate::launch::{KernelLauncher, Started};

const ABANDONED: &str = "its server ended before it was ready";
const STOPPED: &str = "The kernel was stopped while it was starting.";
const RUN_AGAIN: &str = "The next run starts another.";

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
    /// What stores the runs of servers that have gone.
    pub(crate) program: PathBuf,
    /// The runs that wait for the kernel already.
    #[serde(default)]
    pub(crate) waiting: Vec<Note>,
}

/// How the start of a kernel went.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ready,
    /// The kernel does not start.
    Failed {
        cause: String,
        next: String,
    },
    /// There can be no keeper here.
    Unable {
        cause: String,
    },
}

/// Why there is no kernel with a keeper.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The kernel does not start.
    Kernel(Error),
    /// It cannot be kept; the cause.
    Keeper(String),
}

/// Lets a keeper know that the server that started it lives, until this is dropped.
#[derive(Debug)]
pub(crate) struct StarterLife(#[expect(dead_code, reason = "it ends with the pipe")] FramedWrite<ChildStdin>);

/// Starts a keeper, and waits until its kernel is ready. Passes `early` frames on to it meanwhile: which runs wait for the
/// kernel. If this is dropped before, the kernel ends.
pub(crate) async fn start(
    program: &Path,
    process_env: &ProcessEnv,
    spec: &KeepSpec,
    early: &mut mpsc::UnboundedReceiver<ClientFrame>,
) -> Result<StarterLife, StartError> {
    let failed = |error: io::Error| StartError::Keeper(format!("its keeper cannot be started ({error})"));
    let mut command = Command::new(program);
    command.args(["keep", "--detach"]).env_clear().envs(process_env.variables.iter()).current_dir("/");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed(io::ErrorKind::BrokenPipe.into()));
    };
    let spec = serde_json::to_vec(spec).map_err(|error| failed(error.into()))?;
    // Kept until the answer is here: its end means that the kernel is no longer wanted.
    let mut input = FramedWrite::new(input);
    input.send(&spec).await.map_err(failed)?;
    let mut output = FramedRead::new(output);
    let mut is_detached = false;
    let answer = loop {
        tokio::select! {
            exited = child.wait(), if !is_detached => {
                exited.map_err(failed)?;
                is_detached = true;
            }
            answer = output.receive() => break answer.map_err(failed)?,
            Some(frame) = early.recv() => {
                // If it fails, the keeper has ended, which its answer shows.
                let _ = input.send(&frame.write()).await;
            }
        }
    };
    let answer = answer.ok_or_else(|| failed(io::Error::other("it ended at once")))?;
    match serde_json::from_slice(&answer).map_err(|error| failed(error.into()))? {
        Answer::Ready => Ok(StarterLife(input)),
        Answer::Failed { cause, next } => {
            Err(StartError::Kernel(Error::new(ErrorKind::KernelStart, cause, next)))
        }
        Answer::Unable { cause } => Err(StartError::Keeper(cause)),
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
    // From here on, no signal to the session or process group of its starter reaches this process.
    rustix::process::setsid()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut input = FramedRead::new(input);
    let spec = input.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let spec: KeepSpec = serde_json::from_slice(&spec)?;
    let mut output =
        FramedWrite::new(pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?);
    let folder = KeeperFolder { path: spec.folder.clone() };
    let unusable = |error: io::Error| Answer::Unable {
        cause: format!("the folder for it cannot be used ({}): {error}", folder.path.display()),
    };
    let (mut keep, launcher) = match prepare(&spec, &folder) {
        Ok(prepared) => prepared,
        Err(error) => {
            folder.remove();
            return answer(&mut output, &unusable(error)).await;
        }
    };
    let kernel = match start_kernel(&launcher, &mut keep, &mut input, &mut terminate).await {
        Ok(Ok(kernel)) => kernel,
        Ok(Err(error)) => {
            let failed = Answer::Failed { cause: error.cause.clone(), next: error.next.to_string() };
            let answered = answer(&mut output, &failed).await;
            // Whoever was answered tells those who wait.
            let ending = if answered.is_ok() { Ending::Asked } else { Ending::Unused };
            keep.end_unstarted(&error.cause, ending).await;
            return answered;
        }
        Err(Ending::Terminated) => {
            let stopped = Answer::Failed { cause: STOPPED.to_owned(), next: RUN_AGAIN.to_owned() };
            let answered = answer(&mut output, &stopped).await;
            let ending = if answered.is_ok() { Ending::Asked } else { Ending::Unused };
            keep.end_unstarted(STOPPED, ending).await;
            return answered;
        }
        Err(ending) => {
            keep.end_unstarted(ABANDONED, ending).await;
            return Ok(());
        }
    };
    let listening = folder.listen(&launcher.process_env).and_then(|(listener, socket)| {
        folder.set_record(&record(&spec, socket))?;
        Ok(listener)
    });
    let listener = match listening {
        Ok(listener) => listener,
        Err(error) => {
            kernel.stop(false).await;
            folder.remove();
            return answer(&mut output, &unusable(error)).await;
        }
    };
    keep.started(kernel);
    if answer(&mut output, &Answer::Ready).await.is_err() {
        keep.end_unstarted(ABANDONED, Ending::Unused).await;
        return Ok(());
    }
    drop(output);
    keep.watch_starter(input);
    leave_standard_streams()?;
    let terminated = async {
        terminate.recv().await;
    };
    let ending = keep.run(Some(&listener), terminated).await;
    keep.end(ending).await;
    Ok(())
}

/// Starts the kernel, and notes what the server says meanwhile. Fails with why the kernel is no longer wanted; its process ends
/// then.
async fn start_kernel(
    launcher: &KernelLauncher,
    keep: &mut Keeper,
    input: &mut FramedRead<pipe::Receiver>,
    terminate: &mut Signal,
) -> Result<Result<Started<KernelSockets>, Error>, Ending> {
    let mut starting = std::pin::pin!(launcher.start());
    loop {
        tokio::select! {
            started = &mut starting => return Ok(started),
            frame = input.receive() => match frame {
                Ok(Some(frame)) => keep.on_early_frame(ClientFrame::read(frame)),
                // The server has ended, or dropped the start.
                Ok(None) | Err(_) => return Err(Ending::Unused),
            },
            _ = terminate.recv() => return Err(Ending::Terminated),
        }
    }
}

async fn answer(output: &mut FramedWrite<pipe::Sender>, answer: &Answer) -> io::Result<()> {
    output.send(&serde_json::to_vec(answer)?).await
}

/// Makes the folder, and says there what is being started: whoever finds it later is told which runs waited for it.
fn prepare(spec: &KeepSpec, folder: &KeeperFolder) -> io::Result<(Keeper, Arc<KernelLauncher>)> {
    folder.create()?;
    let mut lock = folder.lock()?.ok_or(io::ErrorKind::AddrInUse)?;
    lock.write_keeper()?;
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
    let settling = Settling::with(spec.program.clone());
    let mut keep = Keeper::of_launcher((folder.clone(), lock), launcher.clone(), spec.lifetimes, settling)?;
    for note in &spec.waiting {
        keep.on_early_frame(Ok(ClientFrame::Note(note.clone())));
    }
    folder.set_record(&record(spec, folder.socket()))?;
    Ok((keep, launcher))
}

fn record(spec: &KeepSpec, socket: PathBuf) -> KernelFile {
    KernelFile {
        id: spec.id.clone(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: VERSION,
        choice: spec.choice.clone(),
        folder: spec.working_folder.clone(),
        notebook: spec.notebook.clone(),
        started_at: SystemTime::now(),
        process: std::process::id(),
        socket,
    }
}

/// From here on, nobody waits for this process's output, and nothing that it holds belongs to its starter.
fn leave_standard_streams() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kernelspec::{InstalledKernelspec, InterruptMode};
    use crate::process_env::tests::with;
    use crate::tests::script;

    fn spec(folder: PathBuf) -> KeepSpec {
        let kernelspec = InstalledKernelspec {
            name: "k".into(),
            resources: PathBuf::new(),
            argv: vec!["k".into()],
            display_name: "K".into(),
            language: "k".into(),
            env: BTreeMap::new(),
            interrupt_mode: InterruptMode::Signal,
        };
        let note = Note { run: "r1".to_owned(), message: None, data: serde_json::Value::Null };
        KeepSpec {
            folder,
            id: "id".to_owned(),
            choice: KernelChoice { kernelspec, program: "/k".into(), environment: None, in_place_of: None },
            working_folder: "/".into(),
            notebook: None,
            variables: Vec::new(),
            home: None,
            start_timeout: Duration::from_secs(60),
            lifetimes: Lifetimes::of_idle(Duration::from_secs(60)),
            program: "/k".into(),
            waiting: vec![note],
        }
    }

    #[tokio::test]
    async fn a_keeper_knows_of_the_runs_that_wait_before_it_starts_the_kernel() {
        let state = tempfile::tempdir().unwrap();
        let folder = KeeperFolder { path: state.path().join("kernels/one") };
        let (keep, _) = prepare(&spec(folder.path.clone()), &folder).unwrap();
        assert!(keep.has_unread_runs());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_keeper_is_not_in_the_process_group_of_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let (program, group) = (folder.path().join("program"), folder.path().join("group"));
        script(
            &program,
            &format!("read -r _ _ _ _ group _ < /proc/$$/stat; echo $group > {}", group.display()),
        );
        let (_sender, mut early) = mpsc::unbounded_channel();
        let spec = spec(folder.path().join("kernels/one"));
        let started = start(&program, &with(&[("PATH", "/usr/bin:/bin")]), &spec, &mut early).await;
        assert!(matches!(started, Err(StartError::Keeper(_))), "{started:?}");
        let group: i32 = std::fs::read_to_string(group).unwrap().trim().parse().unwrap();
        assert_ne!(group, rustix::process::getpgrp().as_raw_nonzero().get());
    }
}
