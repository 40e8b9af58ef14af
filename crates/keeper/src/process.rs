//! What a keeper's process does from its first line on. [`start`](crate::start) describes the processes before it.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::event_loop::{Ending, Keeper, Settling};
use crate::folder::KeeperFolder;
use crate::launcher::{LaunchError, Launched, Launcher};
use crate::protocol::{ClientFrame, FramedRead, FramedWrite};
use crate::spec::{Answer, KeeperSpec};

const ABANDONED: &str = "its server ended before it was ready";
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
    let mut input = FramedRead::new(input);
    let spec = input.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let spec: KeeperSpec = serde_json::from_slice(&spec)?;
    let mut output =
        FramedWrite::new(pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?);
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
    let kernel = match start_kernel(launcher.clone(), &mut keeper, &mut input, &mut terminate).await {
        Ok(Ok(kernel)) => kernel,
        Ok(Err(error)) => {
            let failed = Answer::Failed { cause: error.cause.clone(), next: error.next.clone() };
            let answered = answer(&mut output, &failed).await;
            // The caller that got the answer notifies the waiters.
            let ending = if answered.is_ok() { Ending::Asked } else { Ending::Unused };
            keeper.end_unstarted(&error.cause, ending).await;
            return answered;
        }
        Err(Ending::Terminated) => {
            let stopped = Answer::Failed { cause: STOPPED.to_owned(), next: RUN_AGAIN.to_owned() };
            let answered = answer(&mut output, &stopped).await;
            let ending = if answered.is_ok() { Ending::Asked } else { Ending::Unused };
            keeper.end_unstarted(STOPPED, ending).await;
            return answered;
        }
        Err(ending) => {
            keeper.end_unstarted(ABANDONED, ending).await;
            return Ok(());
        }
    };
    let listening = folder.listen(&launcher.temporary_folder()).and_then(|(listener, socket)| {
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
        keeper.end_unstarted(ABANDONED, Ending::Unused).await;
        return Ok(());
    }
    drop(output);
    keeper.watch_starter(input);
    leave_standard_streams()?;
    let terminated = async {
        terminate.recv().await;
    };
    let ending = keeper.run(Some(&listener), terminated).await;
    keeper.end(ending).await;
    Ok(())
}

/// Starts the kernel, and notes what the server says until it is ready. Fails with why the kernel is no longer wanted; its process ends
/// then.
async fn start_kernel(
    launcher: Arc<dyn Launcher>,
    keeper: &mut Keeper,
    input: &mut FramedRead<pipe::Receiver>,
    terminate: &mut Signal,
) -> Result<Result<Launched, LaunchError>, Ending> {
    let mut starting = launcher.start();
    loop {
        tokio::select! {
            started = &mut starting => return Ok(started),
            frame = input.receive() => match frame {
                Ok(Some(frame)) => keeper.on_early_frame(ClientFrame::read(frame)),
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

/// Creates the folder, and records the kernel to start, so that later servers find the waiting runs.
fn prepare(spec: &KeeperSpec, folder: &KeeperFolder, launcher: Arc<dyn Launcher>) -> io::Result<Keeper> {
    folder.create()?;
    let mut lock = folder.lock()?.ok_or(io::ErrorKind::AddrInUse)?;
    lock.write_keeper()?;
    let settling = Settling::with(spec.program.clone());
    let mut keeper = Keeper::of_launcher((folder.clone(), lock), launcher, spec.lifetimes, settling)?;
    for announcement in &spec.waiting {
        keeper.on_early_frame(Ok(ClientFrame::Announce(announcement.clone())));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::spec;
    use crate::tests::NoLauncher;

    #[tokio::test]
    async fn a_keeper_knows_of_the_runs_that_wait_before_it_starts_the_kernel() {
        let state = tempfile::tempdir().unwrap();
        let folder = KeeperFolder { path: state.path().join("kernels/one") };
        let keeper = prepare(&spec(folder.path.clone()), &folder, Arc::new(NoLauncher)).unwrap();
        assert!(keeper.has_unread_runs());
    }
}
