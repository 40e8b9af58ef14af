//! The program for ARM, tried under an emulator, with kernels of this machine.

use anyhow::Result;

use super::SETTINGS;
use super::chroot::Chroot;
use super::end_to_end::{EndToEnd, HERE};
use super::target::Target;
use super::zig;
use crate::command;
use crate::project::Project;
use crate::test::announce;

const EMULATOR: &str = "/usr/bin/qemu-aarch64";

/// Builds the program with the glibc of its packages and plays the tests of a folder.
pub(super) fn try_out(project: &Project, chroot: &Chroot) -> Result<()> {
    announce("building the program for ARM (20 minutes at first)");
    let mut cargo = zig::cargo(project, chroot)?;
    cargo.arg("zigbuild").args(SETTINGS);
    cargo.args(["--offline", "--locked", "--package", "cli", "--bin", "cellbridge"]);
    cargo.args(["--target", &crate::dist::with_oldest_glibc(Target::Arm64.triple())]);
    command::run(&mut cargo)?;

    chroot.install(EMULATOR.trim_start_matches('/'), &["qemu-user"])?;
    let end_to_end = EndToEnd::provide(project, chroot, "e2e-arm64")?;
    let built = chroot.build_folder().join(Target::Arm64.triple()).join("debug/cellbridge");
    let mut program = chroot.command_in(HERE, &[&end_to_end.python], EMULATOR);
    program.arg(built);
    end_to_end.play(&program, &["e2e/local", "e2e/tools"], &[])
}
