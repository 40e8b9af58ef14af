//! Writes which functions a start uses, so that the linker puts them next to each other.

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::{command, provision};

pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    let version = std::process::Command::new("valgrind").arg("--version").output();
    version.context("valgrind can't be run; install it first: `apt-get install valgrind`")?;
    let environment = provision::environment(&project)?;
    let build = ["build", "--locked", "--profile", "dist", "--package", "cli"];
    let target = project.target.join("startup");
    let with_symbols = ["--config", "profile.dist.strip=false", "--target-dir"];
    command::run(project.cargo().args(build).args(with_symbols).arg(&target))?;
    let mut traced = environment.module(&project, "bench.startup")?;
    traced.arg(target.join("dist/cellbridge")).arg(project.root.join("crates/cli/startup.ld"));
    command::run(&mut traced)
}
