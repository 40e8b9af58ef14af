//! Builds the program and the Python packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::platform::{GLIBC, Platform};
use super::{Workshop, elsewhere};
use crate::command;
use crate::platforms::{self, Chroot};
use crate::startup;

/// The Cargo profile of what is shipped.
pub(super) const PROFILE: &str = "dist";

/// What compiles for a platform.
pub(super) enum Toolchain {
    /// The compiler of this machine.
    Own,
    /// That of the chroot in which `cargo xtask platforms` compiles.
    Debian(Chroot),
}

impl Toolchain {
    /// This machine's, if it has a standard library for the platform and nobody has named a folder with the other one.
    pub(super) fn choose(workshop: &Workshop, platform: &Platform, cache: Option<&Path>) -> Result<Self> {
        if cache.is_none() && platform.is_linux() && has_standard_library(workshop, platform)? {
            return Ok(Self::Own);
        }
        let hint = format!(
            "the compiler of this machine has no standard library for {0}, which `rustup target add {0}` adds",
            platform.triple
        );
        let chroot = platforms::toolchain(&workshop.project, cache);
        Ok(Self::Debian(if cache.is_none() { chroot.context(hint)? } else { chroot? }))
    }

    /// The program; that for Linux is linked with an old glibc.
    pub(super) fn program(&self, workshop: &Workshop, platform: &Platform) -> Result<PathBuf> {
        match self {
            Self::Own => program(workshop, platform),
            Self::Debian(chroot) => elsewhere::program(workshop, chroot, platform),
        }
    }

    /// The wheel around `program`, tagged for the same system. maturin checks that the native module needs no newer one.
    pub(super) fn wheel(&self, workshop: &Workshop, platform: &Platform, program: &Path) -> Result<()> {
        match self {
            Self::Own => wheel(workshop, platform, program),
            Self::Debian(chroot) => elsewhere::wheel(workshop, chroot, platform, program),
        }
    }
}

fn program(workshop: &Workshop, platform: &Platform) -> Result<PathBuf> {
    let mut zigbuild = workshop.command("cargo-zigbuild")?;
    zigbuild.args(["zigbuild", "--locked", "--profile", PROFILE, "--package", "cli", "--bin", "cellbridge"]);
    zigbuild.args(["--target", &platform.zig_target()]);
    startup::order(&workshop.project, &mut zigbuild)?;
    command::run(&mut zigbuild)?;
    Ok(workshop.project.target.join(platform.triple).join(PROFILE).join(platform.program()))
}

fn wheel(workshop: &Workshop, platform: &Platform, program: &Path) -> Result<()> {
    let arguments = format!("build-args={}", maturin_arguments(platform));
    let mut build = uv_build(workshop, "--wheel")?;
    command::run(build.args(["--config-setting", &arguments]).env("CELLBRIDGE_PROGRAM", program))
}

/// What maturin is told: which target, and which linker.
pub(super) fn maturin_arguments(platform: &Platform) -> String {
    let mut arguments =
        format!("--profile {PROFILE} --locked --target {} --compression-level 9", platform.triple);
    if platform.is_linux() {
        arguments.push_str(&format!(" --compatibility manylinux_{}", GLIBC.replace('.', "_")));
    }
    if platform.system != "win32" {
        arguments.push_str(" --zig");
    }
    arguments
}

/// The source distribution, from what Git tracks.
pub(super) fn source_distribution(workshop: &Workshop) -> Result<()> {
    command::run(&mut uv_build(workshop, "--sdist")?)
}

fn uv_build(workshop: &Workshop, kind: &str) -> Result<Command> {
    let mut build = workshop.command("uv")?;
    build.args(["build", "--quiet", "--no-build-isolation", "--no-create-gitignore", kind, "--python"]);
    build.arg(&workshop.tools.python).arg("--out-dir").arg(&workshop.packages).arg(&workshop.project.root);
    build.env("CARGO_TARGET_DIR", &workshop.project.target).stdin(Stdio::null());
    Ok(build)
}

fn has_standard_library(workshop: &Workshop, platform: &Platform) -> Result<bool> {
    let mut rustc = workshop.project.command("rustc");
    let folder = command::read(rustc.args(["--print", "target-libdir", "--target", platform.triple]))
        .context("rustc can't be asked for its standard libraries")?;
    Ok(std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()))
}
