//! Which kernel a notebook gets, and in which Python environment.

mod inspection;
mod install;
mod interpreter;
mod kernelspec_choice;
mod managed;
mod project;
mod python_files;
#[cfg_attr(not(any(windows, test)), expect(dead_code, reason = "only Windows has a registry"))]
mod registered;
mod venv;

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::ProcessEnv;

pub use inspection::{
    ActivatedEnvironment, BrokenKernelspec, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel,
};
use kernelspec_choice::MANAGED;
pub(crate) use kernelspec_choice::{KernelChoice, KernelspecChooser, KernelspecQuery};
pub(crate) use venv::{Environment, interpreter_in};

/// A program without input, and on Windows without a console window. It works in a folder in which nobody leaves modules or settings
/// for it to find.
fn command(program: &Path, process_env: &ProcessEnv) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(process_env.variables.iter()).stdin(Stdio::null()).kill_on_drop(true);
    let windows = process_env.path("SYSTEMROOT").filter(|_| cfg!(windows));
    command.current_dir(windows.as_deref().unwrap_or(Path::new("/")));
    #[cfg(windows)]
    command.creation_flags(::windows::CREATE_NO_WINDOW);
    command
}
