//! Which kernel a notebook gets, and in which Python environment.

mod install;
mod interpreter;
mod kernelspec_choice;
mod managed;
mod project;
mod venv;

pub(crate) use kernelspec_choice::{KernelChoice, KernelspecChooser, KernelspecQuery};
pub(crate) use venv::interpreter_in;
