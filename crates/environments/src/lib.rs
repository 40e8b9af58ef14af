//! Which kernels and Python environments this machine has, and which of them a notebook gets.
//!
//! [`KernelspecChooser`] chooses, [`KernelInspection`] explains the choice to a person. What lies in the served folder is read and not
//! started before somebody asks for a run. Nothing here reads the environment of this process: the caller passes it in as
//! [`ProcessEnv`].

mod inspection;
mod install;
mod interpreter;
mod kernel_choice;
mod kernel_env;
mod kernelspec;
mod kernelspec_choice;
mod managed;
mod output_capture;
mod outside;
mod process_env;
pub mod programs;
mod project;
mod python;
mod python_files;
#[cfg_attr(not(any(windows, test)), expect(dead_code, reason = "only Windows has a registry"))]
mod registered;
mod subprocess;
#[cfg(test)]
mod test_program;
mod variables;
mod venv;

pub use inspection::{
    ActivatedEnvironment, BrokenKernelspec, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel,
};
pub use kernel_choice::KernelChoice;
pub use kernel_env::PackagedClient;
pub use kernelspec::{InstalledKernelspec, InterruptMode, arguments, data_folders, list, variables};
pub use kernelspec_choice::{KernelspecChooser, KernelspecQuery, Purpose};
pub use output_capture::OutputCapture;
pub use process_env::{ProcessEnv, prepend_paths};
pub use variables::Variables;
pub use venv::{Defect, Environment};
