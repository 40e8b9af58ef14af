//! The static program, which needs no C library of the system, tried on this machine.

use anyhow::Result;

use super::chroot::Chroot;
use super::end_to_end::EndToEnd;
use super::target::Target;
use super::zig;
use crate::project::Project;

/// Builds the program and plays the tests of a folder.
pub(super) fn try_out(project: &Project, chroot: &Chroot) -> Result<()> {
    let built = zig::build(project, chroot, Target::Musl)?;
    let end_to_end = EndToEnd::provide(project, chroot, "e2e-musl")?;
    end_to_end.play_on_linux(&built.join("cellbridge"), &built.join("examples/touch"), &[])
}
