//! The Python environments of a notebook's project.

use std::path::{Path, PathBuf};

use super::venv::{Defect, Environment};
use crate::ProcessEnv;

/// Where uv, venv, pixi and people put a project's environment.
const NAMES: [&str; 4] = [".venv", "venv", ".pixi/envs/default", "env"];

/// The variables that name the environment which a shell has activated.
pub(super) const ACTIVATED: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// Where an environment of the project may be, nearest first: in `folder` and in the folders above. Above `root`, these are only the
/// ones that belong to its owner and that no other user can write, below the home folder.
pub(super) fn prefixes(
    folder: &Path,
    root: &Path,
    process_env: &ProcessEnv,
) -> impl Iterator<Item = PathBuf> {
    let home = process_env.home.as_deref();
    let is_home = move |folder: &Path| home.is_some_and(|home| home.starts_with(folder));
    let is_searched =
        move |folder: &&Path| folder.starts_with(root) || !is_home(folder) && is_of_same_owner(folder, root);
    folder.ancestors().take_while(is_searched).flat_map(|folder| NAMES.map(|name| folder.join(name)))
}

#[cfg(unix)]
fn is_of_same_owner(folder: &Path, root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const WRITABLE_BY_ALL: u32 = 0o002;
    let (Ok(folder), Ok(root)) = (folder.metadata(), root.metadata()) else { return false };
    folder.uid() == root.uid() && folder.mode() & WRITABLE_BY_ALL == 0
}

/// File modes tell nothing about owners on this system.
#[cfg(not(unix))]
fn is_of_same_owner(_: &Path, _: &Path) -> bool {
    false
}

/// The defective environments for a notebook in `folder` that come before the one in `prefix`, or all of them, each with its defect.
pub(super) fn passed_over(
    folder: &Path,
    root: &Path,
    process_env: &ProcessEnv,
    prefix: Option<&Path>,
) -> Vec<(PathBuf, Defect)> {
    let before = prefixes(folder, root, process_env).take_while(|it| Some(it.as_path()) != prefix);
    before.filter_map(|prefix| Defect::of(&prefix).map(|defect| (prefix, defect))).collect()
}

/// The environments for a notebook in `folder`, nearest first, and then those that were active when this program was started.
pub(crate) fn environments(folder: &Path, root: &Path, process_env: &ProcessEnv) -> Vec<Environment> {
    let beside = prefixes(folder, root, process_env);
    let active = ACTIVATED.into_iter().filter_map(|name| process_env.path(name));
    let mut found: Vec<Environment> = Vec::new();
    for environment in beside.chain(active).filter_map(|prefix| Environment::at(&prefix)) {
        if !found.contains(&environment) {
            found.push(environment);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::venv::tests::venv;
    use super::*;
    use crate::process_env::tests::with;

    #[test]
    fn the_nearest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        venv(&root.join(".venv"), true);
        venv(&root.join("a/venv"), true);
        venv(&folder.path().join("active"), true);
        fs::create_dir_all(root.join("a/b/.venv")).unwrap();
        let active = folder.path().join("active");
        let process_env = with(&[("VIRTUAL_ENV", active.to_str().unwrap()), ("CONDA_PREFIX", "/nowhere")]);
        let found = environments(&root.join("a/b"), &root, &process_env);
        let prefixes: Vec<_> = found.iter().map(|environment| environment.prefix.clone()).collect();
        assert_eq!(prefixes, [root.join("a/venv"), root.join(".venv"), active]);
    }

    #[cfg(unix)]
    #[test]
    fn the_project_reaches_above_the_root_as_far_as_only_its_owner_could_have_made_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let (project, root) = (home.path().join("project"), home.path().join("project/notebooks"));
        venv(&home.path().join(".venv"), true);
        let own = venv(&project.join(".venv"), true);
        fs::create_dir_all(root.join("sub")).unwrap();
        let process_env = ProcessEnv { home: Some(home.path().to_owned()), ..ProcessEnv::default() };
        let found = || environments(&root.join("sub"), &root, &process_env);
        assert_eq!(found(), [own]);
        fs::set_permissions(&project, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(found(), []);
    }

    #[test]
    fn defective_environments_are_found_as_far_as_the_one_that_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        venv(&root.join(".venv"), true);
        fs::remove_dir_all(root.join(".venv").join(crate::venv::tests::PROGRAMS)).unwrap();
        venv(&root.join("a/venv"), true);
        fs::write(root.join("a/.venv"), "").unwrap();
        fs::write(root.join("a/env"), "KEY=value").unwrap();
        fs::create_dir_all(root.join("a/b/.venv")).unwrap();
        let found = |prefix: Option<&Path>| {
            let found = passed_over(&root.join("a/b"), root, &ProcessEnv::default(), prefix).into_iter();
            found.map(|(prefix, defect)| (prefix, defect.to_string())).collect::<Vec<_>>()
        };
        let nearest = [
            (root.join("a/b/.venv"), "it is not a Python environment".to_owned()),
            (root.join("a/.venv"), "it is a file".to_owned()),
        ];
        assert_eq!(found(Some(&root.join("a/venv"))), nearest);
        let last = (root.join(".venv"), "its Python no longer exists".to_owned());
        assert_eq!(found(None), [&nearest[..], &[last]].concat());
    }
}
