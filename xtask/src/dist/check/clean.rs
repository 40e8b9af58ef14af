//! A person's machine with an empty home, a Python kernel and no Rust.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::super::Workshop;
use crate::agent::Agent;
use crate::command;
use crate::provision::Environment;

const SYSTEM: [&str; 2] = ["/usr/bin", "/bin"];
/// What nobody who installs a package must have.
const RUST: [&str; 2] = ["cargo", "rustc"];

pub(super) struct Clean {
    pub(super) home: PathBuf,
    /// The person's folder of notebooks.
    pub(super) work: PathBuf,
    pub(super) path: OsString,
}

impl Clean {
    pub(super) fn new(workshop: &Workshop, kernel: &Environment, name: &str) -> Result<Self> {
        let folder = fresh_folder(workshop, name)?;
        let (home, work) = (folder.join("home"), folder.join("notebooks"));
        std::fs::create_dir(&home)?;
        std::fs::create_dir(&work)?;
        let folders = || std::iter::once(kernel.programs.as_path()).chain(SYSTEM.map(Path::new));
        for program in RUST {
            let found = folders().map(|folder| folder.join(program)).find(|file| file.exists());
            ensure!(
                found.is_none(),
                "{} exists, so this machine can't show that Rust is not needed",
                found.unwrap_or_default().display()
            );
        }
        let path = std::env::join_paths(folders())?;
        Ok(Self { home, work, path })
    }

    /// A program in the person's folder, with the variables of a login and no others.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.work).env_clear().env("PATH", &self.path).env("HOME", &self.home);
        command
    }

    /// Fails unless the installed program tells its version, examines the machine and, started as a server, runs a cell.
    pub(super) fn judge(
        &self,
        workshop: &Workshop,
        program: impl AsRef<Path>,
        server: &mut Command,
    ) -> Result<()> {
        judge_version(workshop, &mut self.command(&program))?;
        // Findings are about this machine; that there is a report is about the package.
        let report = self.command(&program).args(["doctor", "--json"]).output()?.stdout;
        let _: Value = serde_json::from_slice(&report).context("`doctor --json` prints no JSON")?;
        self.run_a_cell(server)?;
        // The kernel outlives its server.
        command::run(self.command(&program).args(["kernels", "stop", "--all"]))
    }

    fn run_a_cell(&self, program: &mut Command) -> Result<()> {
        let mut agent = Agent::start(program)?;
        agent.call("use_notebook", &json!({ "notebook_path": "check.ipynb", "mode": "create" }))?;
        let cell = json!({ "cell_index": -1, "cell_source": "print(6 * 7)" });
        let answer = agent.call("insert_execute_code_cell", &cell)?;
        ensure!(answer.contains("42"), "the cell did not print 42:\n{answer}");
        agent.leave()?;
        let saved = std::fs::read_to_string(self.work.join("check.ipynb"))?;
        ensure!(saved.contains("42"), "the notebook lacks the output:\n{saved}");
        Ok(())
    }
}

/// Fails unless the installed program tells the version that is released.
pub(super) fn judge_version(workshop: &Workshop, program: &mut Command) -> Result<()> {
    let version = command::read(program.arg("--version"))?;
    let expected = format!("cellbridge {}", workshop.release.version);
    ensure!(version == expected, "it is {version}, not {expected}");
    Ok(())
}

/// An empty folder of this name, below the target folder.
pub(super) fn fresh_folder(workshop: &Workshop, name: &str) -> Result<PathBuf> {
    let folder = workshop.project.target.join("packaging/check").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} can't be removed", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
