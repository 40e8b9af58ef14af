//! Kernelspecs: which kernels are installed, and how each is started.

mod command;
mod installed;
mod paths;

pub(crate) use command::{arguments, is_bare_python, program, variables};
pub(crate) use installed::{InstalledKernelspec, InterruptMode, list, read_all};
pub(crate) use paths::{data_folders, user_bases};
