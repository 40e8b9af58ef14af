//! Builds for systems that this machine is not, with the toolchain of `cargo xtask platforms`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::build::{PROFILE, maturin_arguments};
use super::platform::Platform;
use super::{Workshop, frameworks};
use crate::command;
use crate::platforms::{Chroot, zig};
use crate::startup;

/// Calls the package's own build backend, without a frontend: the chroot has a Python and nothing else.
const BACKEND: &str = "import backend, sys; backend.build_wheel(sys.argv[1], {'build-args': sys.argv[2]})";

/// The oldest macOS that Apple's own processors run with.
const OLDEST_MACOS: &str = "11.0";

pub(super) fn program(workshop: &Workshop, chroot: &Chroot, platform: &Platform) -> Result<PathBuf> {
    let mut cargo = if platform.system == "win32" {
        let mut cargo = chroot.command("cargo");
        cargo.arg("build");
        cargo
    } else {
        let mut cargo = zig::cargo(&workshop.project, chroot)?;
        cargo.arg("zigbuild");
        cargo
    };
    cargo.args(["--offline", "--locked", "--profile", PROFILE, "--package", "cli", "--bin", "cellbridge"]);
    cargo.args(["--target", &platform.zig_target()]);
    configure(&mut cargo, chroot, platform)?;
    if platform.is_linux() {
        startup::order(&workshop.project, &mut cargo)?;
    }
    command::run(&mut cargo)?;
    Ok(chroot.build_folder().join(platform.triple).join(PROFILE).join(platform.program()))
}

pub(super) fn wheel(workshop: &Workshop, chroot: &Chroot, platform: &Platform, program: &Path) -> Result<()> {
    let mut python = chroot.command("/usr/bin/python3");
    python.args(["-c", BACKEND]).arg(&workshop.packages).arg(maturin_arguments(platform));
    let modules = command::read(
        Command::new(&workshop.tools.python)
            .args(["-c", "import maturin, pathlib; print(pathlib.Path(maturin.__file__).parents[1])"]),
    )?;
    let own = workshop.project.root.join("python/build");
    python.env("PYTHONPATH", std::env::join_paths([own, modules.into()])?);
    // Last: it has a Python, too, which does not run in the chroot.
    python.env(
        "PATH",
        format!("/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{}", workshop.tools.programs.display()),
    );
    python.env("CARGO_ZIGBUILD_ZIG_PATH", zig::program(&workshop.project)?);
    python.env("CELLBRIDGE_PROGRAM", program).env("CARGO_NET_OFFLINE", "true");
    configure(&mut python, chroot, platform)?;
    command::run(&mut python)
}

/// Sets what Cargo and the linker need for a system that Debian is not.
fn configure(command: &mut Command, chroot: &Chroot, platform: &Platform) -> Result<()> {
    if !platform.is_linux() {
        command.env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
    }
    if platform.system == "darwin" {
        let frameworks = frameworks::write(&chroot.cargo_home().join("registry/src"), &chroot.cache)?;
        command.env("MACOSX_DEPLOYMENT_TARGET", OLDEST_MACOS);
        let target = platform.triple.to_ascii_uppercase().replace('-', "_");
        // Debian lacks the program by which rustc would remove the symbols, so the linker does.
        command.env("CARGO_PROFILE_DIST_STRIP", "none");
        let flags = format!("-C link-arg=-F{} -C link-arg=-Wl,-s", frameworks.display());
        command.env(format!("CARGO_TARGET_{target}_RUSTFLAGS"), flags);
    }
    Ok(())
}
