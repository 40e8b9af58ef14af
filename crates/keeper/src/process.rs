//! What a keeper's process does from its first line on. [`start`](crate::start) describes the processes before it.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use crate::event_loop::{Ending, Keeper, Settling};
use crate::folder::{KeeperFolder, listen};
use crate::launcher::{LaunchError, Launcher};
use crate::protocol::{FramedWrite, framed};
use crate::spec::{Answer, KeeperSpec};

const STOPPED: &str = "The kernel was stopped while it was starting.";
const RUN_AGAIN: &str = "The next run starts another.";

/// The process between server and keeper: starts `program keep` and does not wait for it. Fails if that is not possible.
pub fn detach(program: &Path) -> io::Result<()> {
    let mut command = std::process::Command::new(program);
    command.arg("keep").stderr(Stdio::null());
    command.spawn().map(drop)
}

/// The keeper's process: reads from its standard input what to keep, starts it with the launcher that `launcher_of` makes, and keeps
/// it until its lifetime is over. Fails if `launcher_of` does, or the server that started this
/// cannot be answered.
pub async fn run_from_stdin(
    launcher_of: impl FnOnce(&KeeperSpec) -> io::Result<Arc<dyn Launcher>>,
) -> io::Result<()> {
    // From here on, no signal to the session or process group of its starter reaches this process.
    rustix::process::setsid()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let output = pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
    let (mut input, mut output) = framed((input, output));
    let spec = input.try_next().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let spec: KeeperSpec = serde_json::from_slice(&spec)?;
    let folder = KeeperFolder { path: spec.folder.clone() };
    let unusable = |error: io::Error| Answer::Unable {
        cause: format!("the folder for it cannot be used ({}): {error}", folder.path.display()),
    };
    let launcher = launcher_of(&spec)?;
    let mut keeper = match prepare(&spec, &folder, launcher.clone()) {
        Ok(keeper) => keeper,
        Err(error) => {
            folder.remove();
            return answer(&mut output, &unusable(error)).await;
        }
    };
    // The server that starts this has ended, or no longer wants the kernel. Earlier versions send frames until it is ready.
    let abandoned = async { while let Ok(Some(_)) = input.try_next().await {} };
    let started = tokio::select! {
        started = launcher.clone().start() => started,
        () = abandoned => {
            folder.remove();
            return Ok(());
        }
        _ = terminate.recv() => {
            Err(LaunchError { cause: STOPPED.to_owned(), next: RUN_AGAIN.to_owned() })
        }
    };
    let kernel = match started {
        Ok(kernel) => kernel,
        Err(LaunchError { cause, next }) => {
            folder.remove();
            return answer(&mut output, &Answer::Failed { cause, next }).await;
        }
    };
    let listening = listen(folder.socket(), &launcher.temporary_folder()).and_then(|(listener, socket)| {
        folder.set_record(&spec.kernel_file(socket))?;
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
    keeper.started(kernel);
    if answer(&mut output, &Answer::Ready).await.is_err() {
        keeper.end(Ending::Unused).await;
        return Ok(());
    }
    drop((input, output));
    leave_standard_streams()?;
    let terminated = async {
        terminate.recv().await;
    };
    let ending = keeper.run(Some(&listener), terminated).await;
    keeper.end(ending).await;
    Ok(())
}

async fn answer(output: &mut FramedWrite<pipe::Sender>, answer: &Answer) -> io::Result<()> {
    output.send(&*serde_json::to_vec(answer)?).await
}

/// Creates the folder, and records the kernel to start.
fn prepare(spec: &KeeperSpec, folder: &KeeperFolder, launcher: Arc<dyn Launcher>) -> io::Result<Keeper> {
    folder.create()?;
    let mut lock = folder.lock()?.ok_or(io::ErrorKind::AddrInUse)?;
    lock.write_keeper()?;
    let settling = Settling::with(spec.program.clone());
    let keeper = Keeper::of_launcher((folder.clone(), lock), launcher, spec.lifetimes, settling)?;
    folder.set_record(&spec.kernel_file(folder.socket()))?;
    Ok(keeper)
}

/// From here on, nobody waits for this process's output, and nothing that it holds belongs to its starter.
fn leave_standard_streams() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
