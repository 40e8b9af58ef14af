//! Our own Python package as people install it, for Jupyter servers that otherwise do without.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::{command, provision};

/// Builds the wheel and installs it into a folder of its own. The environments of the servers are the tests', whose
/// wheel is a debug build.
pub(crate) fn provide(project: &Project) -> Result<PathBuf> {
    let tests = provision::environment(project)?;
    let folder = project.target.join("bench-wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} can't be removed", folder.display()))?;
    }
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target"];
    command::run(
        project
            .command(&tests.python)
            .args(["-m", "pip", "install"])
            .args(options)
            .args([folder.as_os_str(), OsStr::new(".")])
            .env("PATH", command::path_with(&tests.programs)?)
            .env("CARGO_TARGET_DIR", &project.target)
            .env_remove("CELLBRIDGE_PROFILE")
            .stdin(Stdio::null()),
    )?;
    Ok(folder)
}
