//! The order of the functions that a start uses, by which the linker puts them next to each other.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::{command, provision};

/// The script for the linker, below the target folder.
const SCRIPT: &str = "startup.ld";
/// The variable that names the script for the build script of `cli`.
const VARIABLE: &str = "CELLBRIDGE_LINK_ORDER";

pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    write(&project, &project.target.join(SCRIPT))
}

/// Lets a build of the program use the order, which is found first unless it is there.
pub(crate) fn order(project: &Project, build: &mut Command) -> Result<()> {
    let script = project.target.join(SCRIPT);
    if !script.exists() {
        write(project, &script)?;
    }
    build.env(VARIABLE, script);
    Ok(())
}

fn write(project: &Project, script: &Path) -> Result<()> {
    let version = Command::new("valgrind").arg("--version").output();
    version.context("valgrind can't be run; install it first: `apt-get install valgrind`")?;
    let environment = provision::environment(project)?;
    let build = ["build", "--locked", "--profile", "dist", "--package", "cli"];
    let target = project.target.join("startup");
    let with_symbols = ["--config", "profile.dist.strip=false", "--target-dir"];
    command::run(project.cargo().args(build).args(with_symbols).arg(&target))?;
    let mut traced = environment.module(project, "bench.startup")?;
    command::run(traced.arg(target.join("dist/cellbridge")).arg(script))
}
