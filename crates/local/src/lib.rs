//! A folder as a place: notebook files on disk, and kernels as processes of this machine.
//!
//! [`Folder`] implements [`place::Place`]. Its files are in the crate `files`; which kernels there are is found by the crate
//! `environments`.

mod folder;
mod foreign;
mod launch;

pub use folder::Folder;
pub use foreign::{ForeignKernelInfo, RefusedFile, foreign_kernels, is_foreign_kernel};
pub use launch::KernelKeeping;
#[cfg(unix)]
pub use launch::{Leftover, keep_from_stdin, leftovers};

#[cfg(test)]
#[path = "../../environments/src/test_program.rs"]
mod test_program;
