//! The Python environments of a notebook's project.

use std::path::{Path, PathBuf};

use super::venv::Environment;
use crate::ProcessEnv;

/// Where uv, venv, pixi and people put a project's environment.
const NAMES: [&str; 4] = [".venv", "venv", ".pixi/envs/default", "env"];

/// The variables that name the environment which a shell has activated.
pub(super) const ACTIVATED: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// Where an environment of the project may be, nearest first.
pub(super) fn prefixes(folder: &Path, root: &Path) -> impl Iterator<Item = PathBuf> {
    let above = folder.ancestors().take_while(move |folder| folder.starts_with(root));
    above.flat_map(|folder| NAMES.map(|name| folder.join(name)))
}

/// The environments for a notebook in `folder`, nearest first: those in `folder` and in the folders above up to
/// `root`, then those that were active when this program was started.
pub(crate) fn environments(folder: &Path, root: &Path, process_env: &ProcessEnv) -> Vec<Environment> {
    let beside = prefixes(folder, root);
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
    fn the_nearest_comes_first_and_those_above_the_root_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        venv(&folder.path().join(".venv"), true);
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
}
