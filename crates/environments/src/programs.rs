//! Programs that this one starts without an agent's or a person's request to run a notebook: none of them comes with the notebooks.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::ProcessEnv;
use files::lies_in;

/// The folders in `$PATH`, without those that lie in `root` or depend on the current folder: an author of notebooks could have put
/// programs there.
pub fn folders(process_env: &ProcessEnv, root: &Path) -> Vec<PathBuf> {
    let path = process_env.get("PATH").unwrap_or_default();
    std::env::split_paths(path).filter(|folder| !lies_in(root, folder)).collect()
}

/// The file of a program, wherever links lead, outside all of `roots`. A relative path has none.
pub fn find(program: &str, process_env: &ProcessEnv, roots: &[PathBuf]) -> Option<PathBuf> {
    let is_usable = |file: &PathBuf| file.is_file() && !roots.iter().any(|root| lies_in(root, file));
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned()).filter(|path| path.is_absolute() && is_usable(path));
    }
    let folders = process_env.get("PATH").unwrap_or_default();
    std::env::split_paths(folders).map(|folder| folder.join(path)).find(is_usable)
}

/// Whether a word of a command names something in one of the folders, also as the value of an option. A file that is named
/// relatively is looked for in the working directory, which is another.
pub fn names_part_of(word: &str, roots: &[PathBuf]) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    [word, value]
        .iter()
        .map(Path::new)
        .any(|path| path.is_absolute() && roots.iter().any(|root| lies_in(root, path)))
}

/// Folders whose files the person has chosen, also where they lie in the folder or hold it. Programs do not work without them.
pub(crate) fn is_place_of_the_person(variable: &OsStr) -> bool {
    let name = variable.to_str().unwrap_or_default().to_ascii_uppercase();
    let homes = ["HOME", "HOMEPATH", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TMP", "TEMP"];
    homes.contains(&&*name) || name.starts_with("XDG_")
}

/// A folder in which nobody but the system's owner has put files.
pub fn neutral_folder(system_root: Option<&OsStr>) -> PathBuf {
    match system_root.filter(|_| cfg!(windows)) {
        Some(folder) => folder.into(),
        None => "/".into(),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn words_that_lead_into_the_folder_are_recognised() {
        let roots = [PathBuf::from("/work")];
        for word in ["/work/x.py", "--config=/work/uv.toml", "/work"] {
            assert!(names_part_of(word, &roots), "{word}");
        }
        for word in ["/usr/bin/x", "x.py", "--root=.", "-m", "/works"] {
            assert!(!names_part_of(word, &roots), "{word}");
        }
    }

    #[test]
    fn programs_of_the_folder_are_not_found() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, elsewhere) = (root.path(), elsewhere.path());
        std::fs::create_dir(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(root.join("bin"), elsewhere.join("link")).unwrap();
        for folder in [&root.join("bin"), elsewhere] {
            std::fs::write(folder.join("less"), "").unwrap();
        }
        let path = [root.join("bin"), ".".into(), "".into(), elsewhere.join("link"), elsewhere.to_owned()];
        let path = std::env::join_paths(path).unwrap();
        let process_env = ProcessEnv { variables: [("PATH".into(), path)].into_iter().collect(), home: None };
        assert_eq!(folders(&process_env, root), [elsewhere]);
        let find = |program: &str| find(program, &process_env, &[root.to_owned()]);
        assert_eq!(find("less"), Some(elsewhere.join("less")));
        assert_eq!(find("./less"), None);
        // Neither by its own path, nor where a link outside leads there.
        assert_eq!(find(root.join("bin/less").to_str().unwrap()), None);
        std::fs::remove_file(elsewhere.join("less")).unwrap();
        std::os::unix::fs::symlink(root.join("bin/less"), elsewhere.join("less")).unwrap();
        assert_eq!(find("less"), None);
    }
}
