//! Kernels as processes of this machine.

mod connection_file;
#[cfg(unix)]
mod keeper_process;
mod keeping;
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
#[cfg(unix)]
pub use keeper_process::keep_from_stdin;
pub use keeping::KernelKeeping;
pub(crate) use kernel::LocalKernel;
#[cfg(unix)]
pub(crate) use kernel::{kernel_state, not_used, refusal};
pub(crate) use launcher::KernelLauncher;
#[cfg(unix)]
pub use leftovers::{Leftover, leftovers};
#[cfg(unix)]
pub(crate) use running::{announcement_of, details_of};
