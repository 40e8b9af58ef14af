//! The sources of all dependencies, fetched by the Cargo of this machine: the chroot needs no network.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use super::chroot::Chroot;
use crate::command;
use crate::project::Project;

pub(super) fn fetch(project: &Project, chroot: &Chroot) -> Result<()> {
    let fetch = |folder: &Path| {
        let mut cargo = project.cargo();
        cargo.args(["fetch", "--locked", "--quiet"]).current_dir(folder).stdin(Stdio::null());
        cargo.env("CARGO_HOME", chroot.cargo_home());
        // The manifests of the standard library use features of Cargo that are not stable.
        cargo.env("RUSTC_BOOTSTRAP", "1");
        command::run(&mut cargo)
    };
    fetch(&project.root)?;
    let library = chroot.cache.join("library");
    let original = chroot.library()?;
    let lock = |folder: &Path| fs::read(folder.join("Cargo.lock")).ok();
    if lock(&library) != lock(&original) {
        // Debian's copy says that its dependencies are in a folder, which `-Z build-std` does not read.
        copy_manifests(&original, &library)?;
    }
    fetch(&library)
}

/// Copies what Cargo needs to know the dependencies: the lock, the manifests, and a file for each target.
fn copy_manifests(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} can't be read", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if [".cargo", "vendor"].iter().any(|left_out| name == *left_out) {
            continue;
        }
        let (path, copy) = (entry.path(), to.join(&name));
        if path.is_dir() {
            copy_manifests(&path, &copy)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["toml", "lock", "rs"].iter().any(|it| extension == *it))
        {
            fs::copy(&path, &copy).with_context(|| format!("{} can't be copied", path.display()))?;
        }
    }
    Ok(())
}
