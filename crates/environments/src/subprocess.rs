//! How programs of environments are started.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::ProcessEnv;
use crate::programs::neutral_folder;

/// A program without input, and on Windows without a console window. It works in a folder in which nobody leaves modules or settings
/// for it to find.
pub(crate) fn command(program: &Path, process_env: &ProcessEnv) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(process_env.variables.iter()).stdin(Stdio::null()).kill_on_drop(true);
    command.current_dir(neutral_folder(process_env.get("SYSTEMROOT")));
    #[cfg(windows)]
    command.creation_flags(::windows::CREATE_NO_WINDOW);
    command
}
