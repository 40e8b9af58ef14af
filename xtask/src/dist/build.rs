//! Builds the program and the Python packages.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use super::Workshop;
use super::platform::{GLIBC, Platform};
use crate::command;

/// The Cargo profile of what is shipped.
const PROFILE: &str = "dist";

/// The program, linked with an old glibc.
pub(super) fn program(workshop: &Workshop, platform: &Platform) -> Result<PathBuf> {
    if let Some(obstacle) = platform.obstacle {
        bail!("no packages are made for {}: {obstacle}", platform.triple);
    }
    require_standard_library(workshop, platform)?;
    let mut zigbuild = workshop.command("cargo-zigbuild")?;
    zigbuild.args(["zigbuild", "--locked", "--profile", PROFILE, "--package", "cli", "--bin", "cellbridge"]);
    zigbuild.args(["--target", &platform.zig_target()]);
    command::run(&mut zigbuild)?;
    Ok(workshop.project.target.join(platform.triple).join(PROFILE).join("cellbridge"))
}

/// The wheel around `program`, tagged for the same glibc. maturin checks that the native module needs no newer one.
pub(super) fn wheel(workshop: &Workshop, platform: &Platform, program: &PathBuf) -> Result<()> {
    let arguments = format!(
        "build-args=--profile {PROFILE} --locked --target {} --zig --compatibility manylinux_{} \
         --compression-level 9",
        platform.triple,
        GLIBC.replace('.', "_")
    );
    let mut build = uv_build(workshop, "--wheel")?;
    command::run(build.args(["--config-setting", &arguments]).env("CELLBRIDGE_PROGRAM", program))
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

/// Fails where Cargo would, after minutes and with a thousand lines.
fn require_standard_library(workshop: &Workshop, platform: &Platform) -> Result<()> {
    let mut rustc = workshop.project.command("rustc");
    let folder = command::read(rustc.args(["--print", "target-libdir", "--target", platform.triple]))
        .context("rustc can't be asked for its standard libraries")?;
    ensure!(
        std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()),
        "the compiler has no standard library for {0}; run `rustup target add {0}`",
        platform.triple
    );
    Ok(())
}
