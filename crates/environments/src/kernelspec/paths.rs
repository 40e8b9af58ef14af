//! The folders with kernelspecs, in the order of `jupyter_core.paths.jupyter_path`.

use std::path::{Path, PathBuf};

use crate::ProcessEnv;
use crate::python::user_bases;

/// The folders that may contain a `kernels` folder, the preferred one first.
///
/// `environments` are the prefixes of the project's Python environments, the preferred one first. Jupyter has one:
/// the environment it runs in.
pub fn data_folders(process_env: &ProcessEnv, environments: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = process_env.paths("JUPYTER_PATH");
    let user = user_folders(process_env);
    let environments = environments.iter().map(|prefix| prefix.join("share/jupyter"));
    // Jupyter prefers its environment to the user's folders if it runs in one, which is always the case here.
    if process_env.flag("JUPYTER_PREFER_ENV_PATH").unwrap_or(true) {
        folders.extend(environments);
        folders.extend(user);
    } else {
        folders.extend(user);
        folders.extend(environments);
    }
    if cfg!(windows) {
        let shared = process_env
            .path("PROGRAMDATA")
            .filter(|_| process_env.flag("JUPYTER_USE_PROGRAMDATA") == Some(true));
        folders.extend(shared.map(|folder| folder.join("jupyter")));
    } else {
        folders.extend(["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from));
    }
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

fn user_folders(process_env: &ProcessEnv) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = process_env.jupyter_data_dir().into_iter().collect();
    folders.extend(user_bases(process_env).into_iter().map(|base| base.join("share/jupyter")));
    // `ipython kernelspec install --user` wrote here before Jupyter existed; jupyter_client still looks there.
    let ipython = process_env.path("IPYTHONDIR");
    folders.extend(ipython.or_else(|| process_env.home.as_deref().map(|home| home.join(".ipython"))));
    folders
}

/// The prefix of a kernelspec in `<prefix>/share/jupyter/kernels/<name>`.
pub(crate) fn prefix_of(resources: &Path) -> Option<&Path> {
    let share = resources.parent()?.parent()?.parent()?;
    resources.parent()?.ends_with("share/jupyter/kernels").then(|| share.parent()).flatten()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::process_env::tests::with;

    fn folders(variables: &[(&str, &str)]) -> Vec<String> {
        let process_env = ProcessEnv { home: Some("/home/ada".into()), ..with(variables) };
        let folders = data_folders(&process_env, &["/work/.venv".into()]);
        folders.into_iter().map(|folder| folder.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_order_is_jupyter_path_environment_user_system() {
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
    fn the_user_can_come_before_the_environment() {
        let folders = folders(&[("JUPYTER_PREFER_ENV_PATH", "0"), ("JUPYTER_DATA_DIR", "/data")]);
        assert_eq!(folders[..2], ["/data", "/home/ada/.local/share/jupyter"]);
        assert_eq!(folders[3], "/work/.venv/share/jupyter");
    }

    #[test]
    fn the_prefix_of_a_kernelspec_follows_from_its_folder() {
        assert_eq!(prefix_of(Path::new("/v/share/jupyter/kernels/ir")), Some(Path::new("/v")));
        assert_eq!(prefix_of(Path::new("/data/kernels/ir")), None);
        assert_eq!(prefix_of(Path::new("/")), None);
    }
}
