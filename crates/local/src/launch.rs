//! Kernels as processes of this machine.

mod connection;
mod guard;
mod kernel;
mod process;
mod start;
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub(crate) use kernel::LocalKernel;
pub(crate) use start::Recipe;
