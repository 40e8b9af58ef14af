//! Kernels as processes of this machine.

mod connection_file;
mod kernel;
mod launcher;
#[cfg(unix)]
mod leftovers;
mod process;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod watchdog;

pub(crate) use kernel::LocalKernel;
pub(crate) use launcher::KernelLauncher;
#[cfg(unix)]
pub use leftovers::{Leftover, leftovers};
