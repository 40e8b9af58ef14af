//! Where the project's files are, as Cargo tells it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::command;

/// The checkout this task runs in.
pub(crate) struct Project {
    /// The folder that holds the root manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target directory; everything that tasks create goes below it.
    pub(crate) target: PathBuf,
}

impl Project {
    /// Asks Cargo, so that `CARGO_TARGET_DIR` and Cargo's configuration are honoured.
    pub(crate) fn find() -> Result<Self> {
        let metadata = MetadataCommand::new()
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .no_deps()
            .exec()
            .context("the workspace can't be read")?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
        })
    }

    /// The Cargo that started us, at the root.
    pub(crate) fn cargo(&self) -> Command {
        self.command(cargo_program())
    }

    /// Builds some targets as the integration tests are built, so that nothing is compiled twice.
    pub(crate) fn build(&self, targets: &[&str]) -> Result<()> {
        let whole = ["build", "--locked", "--workspace", "--exclude", "bench"];
        command::run(self.cargo().args(whole).args(targets))
    }

    /// A program that was built so.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Any program, at the root.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root);
        command
    }
}

fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
