//! Our own Python package, built as a person's `pip` builds it, and a part of each Jupyter server of the tests.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::python::Environment;
use super::stamp::Stamp;
use crate::command;
use crate::project::Project;

/// As the tests' programs are built; nothing is gained by making the file small.
const ARGUMENTS: &str = "build-args=--profile dev --locked --strip --compression-method stored";

/// Says what is in a wheel: each file with its hash.
const CONTENTS: &str = "
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
[record] = [name for name in wheel.namelist() if name.endswith('.dist-info/RECORD')]
print(wheel.read(record).decode())
";

/// Builds the wheel around `program` with what the tests' environment has, and installs it into those `servers` that have
/// another. Returns the wheel.
pub(crate) fn provide(
    project: &Project,
    tests: &Environment,
    program: &Path,
    servers: [&Environment; 3],
) -> Result<PathBuf> {
    let wheel = build(project, tests, program)?;
    let contents = command::read(project.command(&tests.python).args(["-c", CONTENTS]).arg(&wheel))?;
    for server in servers {
        let stamp = Stamp::new(server.home.join("wheel.stamp"), contents.clone());
        if !stamp.is_fresh() {
            stamp.clear()?;
            println!("xtask: installing the wheel into {}", server.home.display());
            let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"];
            let mut pip = project.command(&server.python);
            command::run(pip.args(["-m", "pip", "install"]).args(options).arg(&wheel).stdin(Stdio::null()))?;
            stamp.set()?;
        }
    }
    Ok(wheel)
}

fn build(project: &Project, tests: &Environment, program: &Path) -> Result<PathBuf> {
    let folder = project.target.join("e2e/wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} can't be removed", folder.display()))?;
    }
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"];
    command::run(
        project
            .command(&tests.python)
            .args(["-m", "pip", "wheel"])
            .args(options)
            .args(["--config-settings", ARGUMENTS, "--wheel-dir"])
            .arg(&folder)
            .arg(".")
            .env("PATH", command::path_with(&tests.programs)?)
            .env("CARGO_TARGET_DIR", &project.target)
            .env("CELLBRIDGE_PROFILE", "dev")
            .env("CELLBRIDGE_PROGRAM", program)
            .stdin(Stdio::null()),
    )?;
    only_wheel(&folder)
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            found.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([wheel]) => Ok(wheel),
        Err(others) => bail!("{} holds {} wheels instead of one", folder.display(), others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::only_wheel;

    #[test]
    fn the_wheel_is_the_one_that_was_built() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("build.log"), "")?;
        assert!(only_wheel(folder.path()).is_err());
        let wheel = folder.path().join("cellbridge-1-cp310-abi3-any.whl");
        std::fs::write(&wheel, "")?;
        assert_eq!(only_wheel(folder.path())?, wheel);
        std::fs::write(folder.path().join("cellbridge-2-cp310-abi3-any.whl"), "")?;
        assert!(only_wheel(folder.path()).is_err());
        Ok(())
    }
}
