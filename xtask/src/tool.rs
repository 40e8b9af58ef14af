//! Cargo's own extensions: taken from the machine, otherwise built once into the target directory.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::command;
use crate::project::Project;

/// A Cargo extension and the version that is installed when the machine has none.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// The program, installed first if it is nowhere.
    pub(crate) fn find(&self, project: &Project) -> Result<PathBuf> {
        if let Some(program) = command::on_path(self.name) {
            return Ok(program);
        }
        // A folder for each version, so that a new pin is not answered by an old program.
        let home = project.target.join("tools").join(format!("{}-{}", self.name, self.version));
        let program = home.join("bin").join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            println!("xtask: {} is missing; building {} once (some minutes)", self.name, self.version);
            command::run(
                project
                    .cargo()
                    .args(["install", self.name, "--locked", "--version", self.version, "--root"])
                    .arg(&home)
                    // A toolchain's own flags and target directory are for the project, not for its tools.
                    .env_remove("RUSTFLAGS")
                    .env("CARGO_TARGET_DIR", home.join("build"))
                    .stdin(Stdio::null()),
            )
            .with_context(|| format!("{} could not be installed", self.name))?;
        }
        Ok(program)
    }

    /// A command at the project's root that runs the extension.
    pub(crate) fn command(&self, project: &Project) -> Result<Command> {
        Ok(project.command(self.find(project)?))
    }
}
