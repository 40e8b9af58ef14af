//! The program for ARM, tried under an emulator, with kernels of this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::SETTINGS;
use super::chroot::Chroot;
use super::end_to_end::{EndToEnd, HERE};
use super::target::Target;
use super::zig;
use crate::command;
use crate::project::Project;
use crate::test::announce;

const EMULATOR: &str = "/usr/bin/qemu-aarch64";

/// Where emulators are registered with the kernel of Linux.
/// <https://docs.kernel.org/admin-guide/binfmt-misc.html>
const FORMATS: &str = "/proc/sys/fs/binfmt_misc";
const FORMAT: &str = "cellbridge-aarch64";
/// The first bytes of an ELF file for 64-bit ARM, and which of their bits count.
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
const MASK: &str = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

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
    let _registered = Registered::new()?;
    end_to_end.play(&program, &["e2e/local", "e2e/tools"], &[])
}

/// The emulator of the chroot is registered with the kernel while this exists, since our program starts itself, for example as the
/// keeper of a kernel.
struct Registered;

impl Registered {
    fn new() -> Result<Self> {
        let register = Path::new(FORMATS).join("register");
        if !register.exists() {
            command::run(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", FORMATS]))?;
        }
        if !Path::new(FORMATS).join(FORMAT).exists() {
            fs::write(register, format!(":{FORMAT}:M::{MAGIC}:{MASK}:{EMULATOR}:"))
                .context("the emulator for ARM cannot be registered with the kernel (binfmt_misc)")?;
        }
        Ok(Self)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = fs::write(Path::new(FORMATS).join(FORMAT), "-1");
    }
}
