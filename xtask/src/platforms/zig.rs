//! zig compiles C for systems for which Debian has no compiler.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::chroot::Chroot;
use super::target::Target;
use super::{SETTINGS, with_standard_library};
use crate::project::Project;
use crate::test::announce;
use crate::{command, provision};

/// Prints where the package has its program.
const QUESTION: &str = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name('zig'))";

/// Cargo in the chroot, with zig as the compiler of C and the linker. Both come from the tools for packages.
pub(crate) fn cargo(project: &Project, chroot: &Chroot) -> Result<Command> {
    let mut cargo = chroot.command(provision::packaging(project)?.programs.join("cargo-zigbuild"));
    cargo.env("CARGO_ZIGBUILD_ZIG_PATH", program(project)?);
    Ok(cargo)
}

/// Builds the program, and `touch` of the tests, for a kind of Linux. Returns their folder.
pub(super) fn build(project: &Project, chroot: &Chroot, target: Target) -> Result<PathBuf> {
    announce(&format!("building the program for {} (some minutes at first)", target.triple()));
    let mut cargo = cargo(project, chroot)?;
    cargo.arg("zigbuild").args(SETTINGS).args(["--offline", "--locked"]);
    cargo.args(["--package", "cli", "--bin", "cellbridge", "--package", "notebook", "--example", "touch"]);
    let with_glibc = crate::dist::with_oldest_glibc(target.triple());
    cargo.args(["--target", if target == Target::Musl { target.triple() } else { &with_glibc }]);
    with_standard_library(&mut cargo, target);
    // zig has musl; Debian's compiler comes without it.
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", "-C link-self-contained=no");
    command::run(&mut cargo)?;
    Ok(chroot.build_folder().join(target.triple()).join("debug"))
}

/// Where zig itself is.
pub(crate) fn program(project: &Project) -> Result<String> {
    command::read(Command::new(&provision::packaging(project)?.python).args(["-c", QUESTION]))
}
