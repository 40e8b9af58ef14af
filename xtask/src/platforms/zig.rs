//! zig compiles C for systems for which Debian has no compiler.

use std::process::Command;

use anyhow::Result;

use super::chroot::Chroot;
use crate::project::Project;
use crate::{command, provision};

/// Prints where the package has its program.
const QUESTION: &str = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name('zig'))";

/// Cargo in the chroot, with zig as the compiler of C and the linker. Both come from the tools for packages.
pub(crate) fn cargo(project: &Project, chroot: &Chroot) -> Result<Command> {
    let mut cargo = chroot.command(provision::packaging(project)?.programs.join("cargo-zigbuild"));
    cargo.env("CARGO_ZIGBUILD_ZIG_PATH", program(project)?);
    Ok(cargo)
}

/// Where zig itself is.
pub(crate) fn program(project: &Project) -> Result<String> {
    command::read(Command::new(&provision::packaging(project)?.python).args(["-c", QUESTION]))
}
