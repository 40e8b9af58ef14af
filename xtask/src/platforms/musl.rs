//! The static program, which needs no C library of the system, tried on this machine.

use anyhow::Result;

use super::chroot::Chroot;
use super::end_to_end::EndToEnd;
use super::target::Target;
use super::{SETTINGS, with_standard_library, zig};
use crate::command;
use crate::project::Project;
use crate::test::announce;

/// Builds the program and plays the tests of a folder.
pub(super) fn try_out(project: &Project, chroot: &Chroot) -> Result<()> {
    announce("building the program with musl (some minutes at first)");
    let mut cargo = zig::cargo(project, chroot)?;
    cargo.arg("zigbuild").args(SETTINGS).args(["--offline", "--locked"]);
    cargo.args(["--package", "cli", "--bin", "cellbridge", "--package", "notebook", "--example", "touch"]);
    cargo.args(["--target", Target::Musl.triple()]);
    with_standard_library(&mut cargo, Target::Musl);
    // zig has musl; Debian's compiler comes without it.
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", "-C link-self-contained=no");
    command::run(&mut cargo)?;

    let built = chroot.build_folder().join(Target::Musl.triple()).join("debug");
    let end_to_end = EndToEnd::provide(project, chroot, "e2e-musl")?;
    end_to_end.play_on_linux(&built.join("cellbridge"), &built.join("examples/touch"), &[])
}
