//! Starts keepers.
//!
//! | process | does |
//! |---|---|
//! | the server | starts the second, and gives it on its standard input what to keep |
//! | `keep --detach` | starts the third with the same standard input and output, and ends: the keeper has no parent |
//! | `keep` | leaves the session of the server, reads what to keep, starts the kernel, says how that went, and keeps it: [`run_from_stdin`](crate::run_from_stdin) |
//!
//! The second is not in the server's process group, which clients kill as a whole. If the server's end of the input is closed before the
//! kernel is ready, the kernel is no longer wanted.

use std::io;
use std::path::Path;
use std::process::Stdio;

use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio::process::Command;

use crate::launcher::LaunchError;
use crate::protocol::framed;
use crate::spec::{Answer, KeeperSpec};

/// Why there is no kernel with a keeper.
#[derive(Debug)]
pub enum StartError {
    /// The kernel does not start.
    Kernel(LaunchError),
    /// It cannot be kept; the cause.
    Keeper(String),
}

/// Starts a keeper, and waits until its kernel is ready. If this is dropped before, the kernel ends.
pub async fn start(program: &Path, spec: &KeeperSpec) -> Result<(), StartError> {
    let failed = |error: io::Error| StartError::Keeper(format!("its keeper cannot be started ({error})"));
    let mut command = Command::new(program);
    command.args(["keep", "--detach"]).env_clear().envs(spec.variables.iter().cloned()).current_dir("/");
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
    // The input is kept until the answer is here: its end means that the kernel is no longer wanted.
    let (mut output, mut input) = framed((output, input));
    input.send(&*spec).await.map_err(failed)?;
    let mut is_detached = false;
    let answer = loop {
        tokio::select! {
            exited = child.wait(), if !is_detached => {
                exited.map_err(failed)?;
                is_detached = true;
            }
            answer = output.try_next() => break answer.map_err(failed)?,
        }
    };
    let answer = answer.ok_or_else(|| failed(io::Error::other("it ended at once")))?;
    match serde_json::from_slice(&answer).map_err(|error| failed(error.into()))? {
        Answer::Ready => Ok(()),
        Answer::Failed { cause, next } => Err(StartError::Kernel(LaunchError { cause, next })),
        Answer::Unable { cause } => Err(StartError::Keeper(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::spec;
    use crate::tests::script;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_keeper_is_not_in_the_process_group_of_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let (program, group) = (folder.path().join("program"), folder.path().join("group"));
        script(
            &program,
            &format!("read -r _ _ _ _ group _ < /proc/$$/stat; echo $group > {}", group.display()),
        );
        let spec = spec(folder.path().join("kernels/one"));
        let started = start(&program, &spec).await;
        assert!(matches!(started, Err(StartError::Keeper(_))), "{started:?}");
        let group: i32 = std::fs::read_to_string(group).unwrap().trim().parse().unwrap();
        assert_ne!(group, rustix::process::getpgrp().as_raw_nonzero().get());
    }
}
