//! Kernelspecs: which kernels are installed, and how each is started.

mod command;
mod installed;
mod paths;

pub use command::{arguments, variables};
pub(crate) use command::{is_bare_python, program};
pub(crate) use installed::read_all;
pub use installed::{InstalledKernelspec, InterruptMode, list};
pub use paths::data_folders;
