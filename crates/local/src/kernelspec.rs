//! Kernelspecs: which kernels are installed, and how each is started.

mod command;
mod paths;
mod spec;

pub(crate) use command::{arguments, is_bare_python, program, variables};
pub(crate) use paths::data_folders;
pub(crate) use spec::{InterruptMode, Spec, list};
