//! Where kernelspecs lie, in the order in which `jupyter_core.paths.jupyter_path` searches.

use std::path::{Path, PathBuf};

use crate::Surroundings;

/// The folders that may hold a `kernels` folder, best first.
///
/// `environments` are the prefixes of Python environments that count as ours, best first. Jupyter knows one: that
/// in which it runs itself.
pub(crate) fn data_folders(surroundings: &Surroundings, environments: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = surroundings.paths("JUPYTER_PATH");
    let user = user_folders(surroundings);
    let environments = environments.iter().map(|prefix| prefix.join("share/jupyter"));
    // Jupyter prefers an environment to the person's folders where it runs in one, which these always are.
    if surroundings.flag("JUPYTER_PREFER_ENV_PATH").unwrap_or(true) {
        folders.extend(environments);
        folders.extend(user);
    } else {
        folders.extend(user);
        folders.extend(environments);
    }
    if cfg!(windows) {
        let shared = surroundings
            .path("PROGRAMDATA")
            .filter(|_| surroundings.flag("JUPYTER_USE_PROGRAMDATA") == Some(true));
        folders.extend(shared.map(|folder| folder.join("jupyter")));
    } else {
        folders.extend(["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from));
    }
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

fn user_folders(surroundings: &Surroundings) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = surroundings.jupyter_data().into_iter().collect();
    let base = surroundings.path("PYTHONUSERBASE");
    let base = base.or_else(|| surroundings.home.as_deref().map(|home| home.join(".local")));
    folders.extend(base.map(|base| base.join("share/jupyter")));
    // What `ipython kernelspec install --user` wrote before Jupyter; jupyter_client still looks there.
    let ipython = surroundings.path("IPYTHONDIR");
    folders.extend(ipython.or_else(|| surroundings.home.as_deref().map(|home| home.join(".ipython"))));
    folders
}

/// The prefix to which a kernelspec in `resources` belongs: `<prefix>/share/jupyter/kernels/<name>`.
pub(crate) fn prefix_of(resources: &Path) -> Option<&Path> {
    let share = resources.parent()?.parent()?.parent()?;
    resources.parent()?.ends_with("share/jupyter/kernels").then(|| share.parent()).flatten()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::surroundings::tests::with;

    fn folders(variables: &[(&str, &str)]) -> Vec<String> {
        let surroundings = Surroundings { home: Some("/home/ada".into()), ..with(variables) };
        let folders = data_folders(&surroundings, &["/work/.venv".into()]);
        folders.into_iter().map(|folder| folder.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn jupyter_path_comes_first_then_the_environment_the_person_the_system() {
        assert_eq!(
            folders(&[("JUPYTER_PATH", "/one:/two")]),
            [
                "/one",
                "/two",
                "/work/.venv/share/jupyter",
                "/home/ada/.local/share/jupyter",
                "/home/ada/.ipython",
                "/usr/local/share/jupyter",
                "/usr/share/jupyter",
            ]
        );
    }

    #[test]
    fn the_person_can_come_before_the_environment() {
        let folders = folders(&[("JUPYTER_PREFER_ENV_PATH", "0"), ("JUPYTER_DATA_DIR", "/data")]);
        assert_eq!(folders[..2], ["/data", "/home/ada/.local/share/jupyter"]);
        assert_eq!(folders[3], "/work/.venv/share/jupyter");
    }

    #[test]
    fn a_kernelspec_knows_its_prefix_by_where_it_lies() {
        assert_eq!(prefix_of(Path::new("/v/share/jupyter/kernels/ir")), Some(Path::new("/v")));
        assert_eq!(prefix_of(Path::new("/data/kernels/ir")), None);
        assert_eq!(prefix_of(Path::new("/")), None);
    }
}
