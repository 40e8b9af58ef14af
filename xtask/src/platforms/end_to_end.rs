//! The end-to-end tests of a folder, played on this machine against a program that runs in the chroot.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::chroot::Chroot;
use crate::command;
use crate::project::Project;
use crate::provision::{self, Environment};
use crate::test::announce;

/// The folder in which a script was started.
pub(super) const HERE: &str = "$PWD";

/// Prints the folder of the installation that an environment was made from.
const QUESTION: &str = "import sys; print(sys.base_prefix)";

pub(super) struct EndToEnd<'p> {
    project: &'p Project,
    pub(super) tests: Environment,
    node_modules: PathBuf,
    /// The installation of Python without which kernels do not start.
    pub(super) python: PathBuf,
    /// What tests write goes here, since the chroot has no other folder for temporary files in common with this machine.
    pub(super) folder: PathBuf,
}

impl<'p> EndToEnd<'p> {
    pub(super) fn provide(project: &'p Project, chroot: &Chroot, name: &str) -> Result<Self> {
        let tests = provision::environment(project)?;
        let python = command::read(Command::new(&tests.python).args(["-c", QUESTION]))?.into();
        let folder = chroot.cache.join(name);
        fs::create_dir_all(&folder)?;
        let node_modules = provision::node_modules(project, &tests)?;
        Ok(Self { project, tests, node_modules, python, folder })
    }

    /// Writes a script that is the program to whoever starts it, in whatever folder. Returns its path.
    pub(super) fn launcher(&self, program: &Command, name: &str) -> Result<PathBuf> {
        let file = self.folder.join("bin").join(name);
        fs::create_dir_all(file.parent().unwrap_or(&self.folder))?;
        fs::write(&file, script(program))?;
        command::run(Command::new("chmod").arg("755").arg(&file))?;
        Ok(file)
    }

    /// Plays the tests of a folder but for those that `left_out` deselects. `touch` is the program of one of them.
    pub(super) fn play_on_linux(&self, launcher: &Path, touch: &Path, left_out: &[&str]) -> Result<()> {
        let uv = provision::uv(self.project)?.programs.join("uv");
        let server = provision::collaboration_server(self.project)?;
        let variables = [
            ("CELLBRIDGE_E2E_TOUCH", touch.as_os_str()),
            ("CELLBRIDGE_E2E_UV", uv.as_os_str()),
            ("CELLBRIDGE_E2E_JUPYTER_RTC", server.python.as_os_str()),
        ];
        // Most of what is left out here is about Jupyter servers.
        let chosen = ["e2e/local", "e2e/tools", "--deselect=tools/test_undo_soak.py"];
        self.play(launcher, &[&chosen, left_out].concat(), &variables)
    }

    /// Plays the tests that `arguments` of pytest choose against the program that `launcher` starts.
    pub(super) fn play(
        &self,
        launcher: &Path,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
    ) -> Result<()> {
        announce("end-to-end tests (pytest)");
        let mut pytest = self.tests.module(self.project, "pytest")?;
        pytest.arg("-o").arg(format!("cache_dir={}", self.folder.join("pytest_cache").display()));
        pytest.arg("--basetemp").arg(self.folder.join("tmp")).args(["-n", "2", "--dist", "loadgroup"]);
        // Python 3.11 may fail to find the source of a failure: https://github.com/python/cpython/issues/106905.
        pytest.arg("--tb=native");
        // Of the places, only the folder.
        pytest.args(["-k", "not beside and not inside and not colab"]).args(arguments);
        pytest.env("CELLBRIDGE_BIN", launcher).env("CELLBRIDGE_E2E_NODE_MODULES", &self.node_modules);
        command::run(pytest.envs(variables.iter().copied()))
    }
}

/// Does what `program` would do, with further arguments.
fn script(program: &Command) -> String {
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    let mut script = "#!/bin/sh\n".to_owned();
    for (name, value) in program.get_envs() {
        let value = quoted(&value.unwrap_or_default().to_string_lossy());
        script.push_str(&format!("export {}={value}\n", name.to_string_lossy()));
    }
    script.push_str(&format!("exec {} \"$@\"\n", words.join(" ")));
    script
}

/// A word of the shell; [`HERE`] is left for it to replace.
fn quoted(word: &str) -> String {
    if word == HERE { format!("\"{HERE}\"") } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_of_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(HERE), "\"$PWD\"");
    }
}
