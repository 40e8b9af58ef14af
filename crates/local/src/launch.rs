//! Kernels as processes of this machine.

mod connection_file;
mod kernel;
mod launcher;
#[cfg(unix)]
mod leftovers;
mod process;
mod running;
#[cfg(any(windows, test))]
mod stale_files;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod watchdog;

pub(crate) use connection_file::{STARTED_BY, THIS_PROGRAM, has_own_sockets};
pub use kernel::KernelKeeping;
pub(crate) use kernel::LocalKernel;
#[cfg(unix)]
pub(crate) use kernel::{KnownKeeper, kernel_state};
pub(crate) use launcher::KernelLauncher;
#[cfg(unix)]
pub(crate) use launcher::Started;
#[cfg(unix)]
pub use leftovers::{Leftover, leftovers};
