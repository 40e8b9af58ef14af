//! The program for ARM, tried under an emulator, with kernels of this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::chroot::Chroot;
use super::end_to_end::{EndToEnd, HERE};
use super::target::Target;
use super::zig;
use crate::command;
use crate::project::Project;

const EMULATOR: &str = "/usr/bin/qemu-aarch64";

/// Options of pytest that leave out what cannot pass here.
const LEFT_OUT: [&str; 2] = [
    // The tests start the program by a script.
    "--deselect=local/test_demo.py::test_the_demo_says_how_clients_start_the_program",
    // The emulated program reads slower than the kernel prints, and ZeroMQ drops what waits behind 1000 messages.
    "--deselect=local/test_faults.py::test_many_lines_are_stored_in_full_and_shown_truncated[flushed]",
];

/// Where emulators are registered with the kernel of Linux.
/// <https://docs.kernel.org/admin-guide/binfmt-misc.html>
const FORMATS: &str = "/proc/sys/fs/binfmt_misc";
const FORMAT: &str = "cellbridge-aarch64";
/// The first bytes of an ELF file for 64-bit ARM, and which of their bits count.
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
const MASK: &str = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

/// Builds the program with the glibc of its packages and plays the tests of a folder.
pub(super) fn try_out(project: &Project, chroot: &Chroot) -> Result<()> {
    let built = zig::build(project, chroot, Target::Arm64)?;
    chroot.install("usr/share/doc/python3-venv", &["qemu-user", "python3-venv"])?;
    let end_to_end = EndToEnd::provide(project, chroot, "e2e-arm64")?;
    let launcher = |name: &str| {
        // Sockets are in /tmp where their path would be too long, and pip trusts whom this machine trusts.
        let further = [&*end_to_end.python, Path::new("/tmp"), Path::new("/etc/ssl")];
        let mut program = chroot.command_in(HERE, &further, EMULATOR);
        // It gets the environment of whoever starts it.
        program.env_clear().arg(built.join(name));
        end_to_end.launcher(&program, name)
    };
    let program = launcher("cellbridge")?;
    let touch = launcher("examples/touch")?;
    let _registered = Registered::new()?;
    end_to_end.play_on_linux(&program, &touch, &LEFT_OUT)
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
