//! The Python environments of the project that a notebook belongs to.

use std::path::Path;

use super::python::Environment;
use crate::Surroundings;

/// Where tools put a project's environment, below its folder: venv and uv, people by hand, pixi.
const NAMES: [&str; 4] = [".venv", "venv", ".pixi/envs/default", "env"];

/// The environments for a notebook in `folder`, nearest first: those beside it and in the folders above up to
/// `root`, then those that are active where we were started.
pub(crate) fn environments(folder: &Path, root: &Path, surroundings: &Surroundings) -> Vec<Environment> {
    let above = folder.ancestors().take_while(|folder| folder.starts_with(root));
    let beside = above.flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| surroundings.path(name));
    let mut found: Vec<Environment> = Vec::new();
    for environment in beside.chain(active).filter_map(|prefix| Environment::at(&prefix)) {
        if !found.contains(&environment) {
            found.push(environment);
        }
    }
    found
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::super::python::tests::venv;
    use super::*;
    use crate::surroundings::tests::with;

    #[test]
    fn the_nearest_comes_first_and_nothing_above_the_root_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        venv(&folder.path().join(".venv"), true);
        venv(&root.join(".venv"), true);
        venv(&root.join("a/venv"), true);
        venv(&folder.path().join("active"), true);
        fs::create_dir_all(root.join("a/b/.venv")).unwrap();
        let active = folder.path().join("active");
        let surroundings = with(&[("VIRTUAL_ENV", active.to_str().unwrap()), ("CONDA_PREFIX", "/nowhere")]);
        let found = environments(&root.join("a/b"), &root, &surroundings);
        let prefixes: Vec<_> = found.iter().map(|environment| environment.prefix.clone()).collect();
        assert_eq!(prefixes, [root.join("a/venv"), root.join(".venv"), active]);
    }
}
