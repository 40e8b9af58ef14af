//! Our own Python package in the Jupyter servers of the tests: links to its sources, and to the native module and the program
//! that the tests' build has made. Whether the wheel is in order is checked by `cargo xtask dist --check`.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::python::Environment;
use crate::project::Project;

/// How the server learns of the extension, below the environment's folder.
const SETTINGS: &str = "etc/jupyter/jupyter_server_config.d/cellbridge.json";

/// Puts the package into each of the environments.
pub(crate) fn place(project: &Project, program: &Path, servers: &[&Environment]) -> Result<()> {
    let package = project.target.join("e2e/package/cellbridge");
    fs::create_dir_all(&package)?;
    let sources = project.root.join("python/cellbridge");
    for source in fs::read_dir(&sources).with_context(|| format!("{} can't be read", sources.display()))? {
        let source = source?.path();
        if let Some(name) = source.file_name().filter(|_| source.is_file()) {
            link(&source, &package.join(name))?;
        }
    }
    let library = format!("{}_native{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    link(&program.with_file_name(library), &package.join("_native.abi3.so"))?;
    for server in servers {
        link(&package, &packages_of(server)?.join("cellbridge"))?;
        link(program, &server.programs.join("cellbridge"))?;
        let settings = server.home.join(SETTINGS);
        fs::create_dir_all(settings.parent().unwrap_or(&server.home))?;
        link(&project.root.join("python/cellbridge.data/data").join(SETTINGS), &settings)?;
    }
    Ok(())
}

/// The folder of an environment's packages.
fn packages_of(environment: &Environment) -> Result<PathBuf> {
    let library = environment.home.join("lib");
    let versions = fs::read_dir(&library).with_context(|| format!("{} can't be read", library.display()))?;
    let mut folders = versions.flatten().map(|version| version.path().join("site-packages"));
    folders
        .find(|folder| folder.is_dir())
        .with_context(|| format!("{} has no site-packages", library.display()))
}

/// Makes `link` a link to `target`, in place of whatever is there.
fn link(target: &Path, link: &Path) -> Result<()> {
    if link.is_dir() && !link.is_symlink() {
        fs::remove_dir_all(link)?;
    } else if link.is_symlink() || link.exists() {
        fs::remove_file(link)?;
    }
    symlink(target, link).with_context(|| format!("{} can't be made", link.display()))
}

#[cfg(test)]
mod tests {
    use super::link;

    #[test]
    fn a_link_takes_the_place_of_files_folders_and_links() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (target, place) = (folder.path().join("target"), folder.path().join("place"));
        std::fs::write(&target, "it")?;
        std::fs::create_dir_all(place.join("installed"))?;
        for _ in 0..2 {
            link(&target, &place)?;
            assert_eq!(std::fs::read_to_string(&place)?, "it");
        }
        std::fs::remove_file(&place)?;
        std::fs::write(&place, "a file")?;
        link(&target, &place)?;
        assert_eq!(std::fs::read_to_string(&place)?, "it");
        Ok(())
    }
}
