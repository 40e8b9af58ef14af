//! Reads the house: what Cargo knows of the packages, and the manifests and sources of the members.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use super::code::Code;
use super::manifest::Manifest;
use super::model::{Dependency, House, Member, Origin, Package, Source};
use crate::project::Project;

/// Reads everything that the rules look at.
pub(crate) fn house(project: &Project) -> Result<House> {
    let metadata = MetadataCommand::new()
        .current_dir(&project.root)
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .context("tidy reads the dependency tree; if Cargo.lock is out of date, run: cargo metadata")?;
    let lock =
        std::fs::read_to_string(project.root.join("Cargo.lock")).context("Cargo.lock can't be read")?;
    let members = metadata.workspace_packages().into_iter().map(|package| member(project, package));
    Ok(House { members: members.collect::<Result<_>>()?, packages: packages(&metadata, &lock) })
}

fn packages(metadata: &Metadata, lock: &str) -> Vec<Package> {
    let package = |package: &cargo_metadata::Package| {
        let version = package.version.to_string();
        let origin = match &package.source {
            None if package.manifest_path.starts_with(&metadata.workspace_root) => Origin::Inside,
            None => Origin::Elsewhere(format!("path {}", package.manifest_path)),
            Some(source) if source.is_crates_io() => Origin::CratesIo,
            Some(source) => Origin::Elsewhere(source.repr.clone()),
        };
        let line = lock_line(lock, package.name.as_str(), &version);
        Package { name: package.name.to_string(), version, licence: package.license.clone(), origin, line }
    };
    metadata.packages.iter().map(package).collect()
}

fn lock_line(lock: &str, name: &str, version: &str) -> usize {
    let (name, version) = (format!("name = \"{name}\""), format!("version = \"{version}\""));
    let lines: Vec<&str> = lock.lines().collect();
    lines.windows(2).position(|pair| pair[0] == name && pair[1] == version).map_or(1, |index| index + 1)
}

fn member(project: &Project, package: &cargo_metadata::Package) -> Result<Member> {
    let folder = package.manifest_path.parent().context("a manifest stands in a folder")?.as_std_path();
    let text = std::fs::read_to_string(&package.manifest_path)?;
    let manifest = Manifest::parse(&text).with_context(|| format!("{}", package.manifest_path))?;
    let real_name = |key: &str| {
        let renamed = package.dependencies.iter().find(|it| it.rename.as_deref() == Some(key));
        renamed.map_or_else(|| key.to_owned(), |dependency| dependency.name.clone())
    };
    let dependencies = manifest.declarations.iter().map(|declaration| Dependency {
        name: real_name(&declaration.key),
        kind: declaration.kind,
        line: declaration.line,
        inherited: declaration.inherited,
    });
    Ok(Member {
        name: package.name.to_string(),
        folder: relative(&project.root, folder),
        publishable: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
        lints_inherited: manifest.lints_inherited,
        dependencies: dependencies.collect(),
        sources: sources(&project.root, &folder.join("src"))?,
    })
}

/// The files below `folder`, less those that only tests contain.
fn sources(root: &Path, folder: &Path) -> Result<Vec<Source>> {
    let mut files = BTreeSet::new();
    walk(folder, &mut files)?;
    let mut parsed = Vec::new();
    let mut test_only = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let code = Code::parse(&text).with_context(|| format!("{}", file.display()))?;
        test_only.extend(code.test_modules().iter().map(|name| module_home(&file).join(name)));
        parsed.push((file, code));
    }
    parsed.retain(|(file, _)| {
        let module = file.with_extension("");
        !test_only.iter().any(|test| module.starts_with(test))
    });
    Ok(parsed.into_iter().map(|(file, code)| Source { path: relative(root, &file), code }).collect())
}

/// The folder in which a file's own modules lie.
fn module_home(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    if stem == "lib" || stem == "main" || stem == "mod" {
        file.parent().map(Path::to_owned).unwrap_or_default()
    } else {
        file.with_extension("")
    }
}

fn walk(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_test_modules_are_left_out_and_their_neighbours_are_not() -> Result<()> {
        let root = tempfile::tempdir()?;
        let folder = root.path().join("src");
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).and_then(|()| std::fs::write(file, text))
        };
        write("lib.rs", "mod room;\n#[cfg(test)]\npub(crate) mod tests;\n#[cfg(test)] use x::y;")?;
        write("tests.rs", "mod deep;")?;
        write("tests/deep.rs", "")?;
        write("tests_of_patience.rs", "")?;
        write("room.rs", "#[cfg(test)] mod cases;")?;
        write("room/cases.rs", "")?;
        write("room/door.rs", "#[cfg(not(test))] mod hinge;")?;
        write("room/door/hinge.rs", "")?;
        let paths: Vec<_> = sources(root.path(), &folder)?.into_iter().map(|source| source.path).collect();
        let expected = ["lib.rs", "room/door/hinge.rs", "room/door.rs", "room.rs", "tests_of_patience.rs"]
            .map(|name| format!("src/{name}"));
        assert_eq!(paths, expected);
        Ok(())
    }

    #[test]
    fn a_package_is_found_in_the_lock_by_name_and_version() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(lock_line(lock, "a", "1.0.0"), 2);
        assert_eq!(lock_line(lock, "a", "2.0.0"), 6);
    }
}
