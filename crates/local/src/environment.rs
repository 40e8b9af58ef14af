//! Which kernel a notebook gets, and in which Python environment.

mod inspection;
mod install;
mod interpreter;
mod kernelspec_choice;
mod managed;
mod project;
#[cfg_attr(not(any(windows, test)), expect(dead_code, reason = "only Windows has a registry"))]
mod registered;
mod venv;

pub use inspection::{
    ActivatedEnvironment, BrokenKernelspec, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel,
};
use kernelspec_choice::MANAGED;
pub(crate) use kernelspec_choice::{KernelChoice, KernelspecChooser, KernelspecQuery};
pub(crate) use venv::{Environment, interpreter_in};
