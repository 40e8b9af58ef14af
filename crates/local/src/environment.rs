//! Which kernel a notebook gets, and in which Python environment.

mod inspection;
mod install;
mod interpreter;
mod kernelspec_choice;
mod managed;
mod project;
mod venv;

pub use inspection::{
    ActivatedEnvironment, BrokenKernelspec, EnvironmentState, FoundEnvironment, FoundKernelspec,
    KernelInspection, ManagedState, NextKernel,
};
use kernelspec_choice::MANAGED;
pub(crate) use kernelspec_choice::{KernelChoice, KernelspecChooser, KernelspecQuery};
pub(crate) use venv::interpreter_in;
