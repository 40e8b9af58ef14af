//! The environment of a process: its variables and the home folder. The caller passes it in; this crate never reads
//! its own.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::programs::is_place_of_the_person;
use crate::{Variables, kernel_env};
use files::lies_in;

/// The environment variables and the home folder that kernels get and searches use.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnv {
    /// Kernels get all of them.
    pub variables: Variables,
    pub home: Option<PathBuf>,
}

impl ProcessEnv {
    /// Of these variables, all that kernels may have: not those of the client that started this program, nor the keys of
    /// its model, nor paths into the package that the client comes in, except those that `kept` names.
    pub fn inherited(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        home: Option<PathBuf>,
        kept: &[String],
    ) -> Self {
        Self { variables: kernel_env::inherited(variables.into_iter().collect(), kept), home }
    }

    /// These variables, and no home folder.
    pub fn with_variables(variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables.iter().map(|(key, value)| (key.into(), value.into())).collect(),
            home: None,
        }
    }

    /// The value of a variable. `None` if it is unset or empty: the programs that define these variables do not
    /// distinguish the two.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// The folders in a variable of the same form as `PATH`.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        let folders = self.get(name).into_iter().flat_map(std::env::split_paths);
        folders.filter(|folder| !folder.as_os_str().is_empty()).collect()
    }

    /// Whether a variable is true, by Jupyter's rule: anything but `no`, `n`, `false`, `off`, `0` and `0.0`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?.to_string_lossy().to_ascii_lowercase();
        Some(!["no", "n", "false", "off", "0", "0.0"].contains(&value.as_str()))
    }

    /// The first executable with that name on `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        // Relative folders are ignored: with `.` on PATH, a program from a notebook's folder would run.
        let mut folders = self.paths("PATH").into_iter().filter(|folder| folder.is_absolute());
        folders.find_map(|folder| {
            let path = std::env::join_paths([&folder]).ok()?;
            which::which_in(name, Some(path), &folder).ok()
        })
    }

    /// The same for programs that are started before anybody has asked for a run: without what variables name in the served folder,
    /// such as programs on `PATH`, and without the environment that a shell has activated there. Folders that depend on the current
    /// one are left out of lists.
    #[must_use]
    pub fn outside(&self, root: &Path) -> Self {
        let is_outside = |name: &OsStr, path: &Path| {
            let is_list = name.as_encoded_bytes().to_ascii_uppercase().ends_with(b"PATH");
            is_place_of_the_person(name) || if path.is_absolute() { !lies_in(root, path) } else { !is_list }
        };
        Self { variables: self.variables.with_paths(is_outside), home: self.home.clone() }
    }

    /// The user's data folder of Jupyter (`jupyter_core.paths.jupyter_data_dir`).
    pub(crate) fn jupyter_data_dir(&self) -> Option<PathBuf> {
        if let Some(folder) = self.path("JUPYTER_DATA_DIR") {
            return Some(folder);
        }
        if cfg!(target_os = "macos") {
            return Some(self.home.as_ref()?.join("Library/Jupyter"));
        }
        if cfg!(windows) {
            return self.path("APPDATA").map(|folder| folder.join("jupyter"));
        }
        Some(self.xdg_dir("XDG_DATA_HOME", ".local/share")?.join("jupyter"))
    }

    /// The folder for connection files (`jupyter_core.paths.jupyter_runtime_dir`).
    pub fn jupyter_runtime_dir(&self) -> Option<PathBuf> {
        self.path("JUPYTER_RUNTIME_DIR").or_else(|| Some(self.jupyter_data_dir()?.join("runtime")))
    }

    /// The folders in which programs of this user leave the connection files of their kernels.
    pub fn connection_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.jupyter_runtime_dir().into_iter().collect();
        if self.path("JUPYTER_RUNTIME_DIR").is_none() {
            // Older versions of jupyter_core used this one.
            folders.extend(self.path("XDG_RUNTIME_DIR").map(|folder| folder.join("jupyter")));
        }
        if cfg!(windows) {
            // Others could write a file in the rest.
            folders.retain(|folder| self.inherits_privacy(folder));
        }
        folders
    }

    /// Whether a folder is in the person's own. On Windows only these are sure to be closed to others: files have no mode there,
    /// and get their access control list from their folder.
    pub fn inherits_privacy(&self, folder: &Path) -> bool {
        let variables = ["APPDATA", "LOCALAPPDATA", "USERPROFILE"].map(|name| self.path(name));
        let mut own = self.home.clone().into_iter().chain(variables.into_iter().flatten());
        own.any(|own| own.is_absolute() && is_below(folder, &own))
    }

    /// The folder for the data of this program.
    pub fn own_data_dir(&self) -> Option<PathBuf> {
        self.own_dir("XDG_DATA_HOME", ".local/share")
    }

    /// The folder for what this program remembers between two starts.
    pub fn own_state_dir(&self) -> Option<PathBuf> {
        self.own_dir("XDG_STATE_HOME", ".local/state")
    }

    /// The same, as keepers use it.
    #[cfg(unix)]
    pub fn state_folder(&self) -> keeper::StateFolder {
        keeper::StateFolder::new(self.own_state_dir())
    }

    fn own_dir(&self, variable: &str, default: &str) -> Option<PathBuf> {
        let base = if cfg!(target_os = "macos") {
            self.home.as_ref()?.join("Library/Application Support")
        } else if cfg!(windows) {
            self.path("LOCALAPPDATA")?
        } else {
            self.xdg_dir(variable, default)?
        };
        Some(base.join("cellbridge"))
    }

    /// The folder for temporary files.
    pub fn temp_dir(&self) -> PathBuf {
        let absolute = |name: &str| self.path(name).filter(|folder| folder.is_absolute());
        if cfg!(windows) {
            // In the order of `GetTempPath`. Without any of them, it is the folder that all users share.
            let named = ["TMP", "TEMP"].into_iter().find_map(absolute);
            let own = || absolute("LOCALAPPDATA").map(|folder| folder.join("Temp"));
            return named.or_else(own).unwrap_or_else(|| PathBuf::from(r"C:\Windows\Temp"));
        }
        absolute("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// A folder of the XDG specification, which says to ignore relative paths.
    fn xdg_dir(&self, variable: &str, default: &str) -> Option<PathBuf> {
        let named = self.path(variable).filter(|folder| folder.is_absolute());
        named.or_else(|| Some(self.home.as_ref()?.join(default)))
    }
}

/// Whether a folder is another, or in it. Case is ignored, and `..` leads out.
fn is_below(folder: &Path, other: &Path) -> bool {
    let names = |path: &Path| -> Vec<String> {
        path.components().map(|name| name.as_os_str().to_string_lossy().to_lowercase()).collect()
    };
    let has_parents = folder.components().any(|name| name == Component::ParentDir);
    !has_parents && names(folder).starts_with(&names(other))
}

/// Puts folders before the others in a value of the same form as `PATH`. A folder whose name cannot be part of one is left out.
pub fn prepend_paths<'p>(folders: impl IntoIterator<Item = &'p Path>, others: Option<&OsStr>) -> OsString {
    let can_be_part = |folder: &&Path| std::env::join_paths([folder]).is_ok();
    let folders = folders.into_iter().filter(can_be_part).map(Path::to_path_buf);
    let others = others.into_iter().flat_map(std::env::split_paths);
    std::env::join_paths(folders.chain(others)).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn with(variables: &[(&str, &str)]) -> ProcessEnv {
        ProcessEnv::with_variables(variables)
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let process_env = with(&[("JUPYTER_DATA_DIR", ""), ("XDG_DATA_HOME", "/data")]);
        assert_eq!(process_env.get("JUPYTER_DATA_DIR"), None);
        #[cfg(target_os = "linux")]
        assert_eq!(process_env.jupyter_data_dir(), Some("/data/jupyter".into()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn own_folders_follow_the_xdg_specification() {
        let variables = [("XDG_STATE_HOME", "/state"), ("XDG_DATA_HOME", "relative")];
        let process_env = ProcessEnv { home: Some("/home/ada".into()), ..with(&variables) };
        assert_eq!(process_env.own_data_dir(), Some("/home/ada/.local/share/cellbridge".into()));
        assert_eq!(process_env.own_state_dir(), Some("/state/cellbridge".into()));
        assert_eq!(ProcessEnv::default().own_data_dir(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn connection_files_are_in_the_runtime_folder_of_any_version_of_jupyter() {
        let folders = |variables: &[(&str, &str)]| {
            ProcessEnv { home: Some("/home/ada".into()), ..with(variables) }.connection_folders()
        };
        let own = PathBuf::from("/home/ada/.local/share/jupyter/runtime");
        assert_eq!(folders(&[]), std::slice::from_ref(&own));
        assert_eq!(folders(&[("XDG_RUNTIME_DIR", "/run/user/1")]), [own, "/run/user/1/jupyter".into()]);
        let named = [("XDG_RUNTIME_DIR", "/run/user/1"), ("JUPYTER_RUNTIME_DIR", "/run/j")];
        assert_eq!(folders(&named), [PathBuf::from("/run/j")]);
    }

    #[test]
    fn folders_of_the_person_are_private() {
        let home = std::env::temp_dir().join("Ada");
        let process_env = ProcessEnv { home: Some(home.clone()), ..with(&[("APPDATA", "relative")]) };
        for folder in [home.clone(), home.join("AppData"), std::env::temp_dir().join("ada").join("x")] {
            assert!(process_env.inherits_privacy(&folder), "{}", folder.display());
        }
        for folder in ["relative", "/shared", ""].map(PathBuf::from).iter().chain([&home.join("..")]) {
            assert!(!process_env.inherits_privacy(folder), "{}", folder.display());
        }
        assert!(!process_env.inherits_privacy(&std::env::temp_dir().join("Ada2")));
    }

    #[test]
    fn flags_follow_jupyters_rule() {
        for (value, expected) in [("1", true), ("yes", true), ("0", false), ("False", false), ("off", false)]
        {
            assert_eq!(with(&[("F", value)]).flag("F"), Some(expected), "{value}");
        }
        assert_eq!(with(&[]).flag("F"), None);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_in_the_served_folder_is_named_to_programs_that_nobody_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(root.join("bin"), folder.path().join("linked")).unwrap();
        let at = |path: &str| folder.path().join(path).display().to_string();
        let path =
            [at("bin"), at("root/bin"), at("linked"), "bin".to_owned(), "/usr/bin".to_owned()].join(":");
        let process_env = with(&[
            ("PATH", &path),
            ("VIRTUAL_ENV", &at("root/.venv")),
            ("HOME", &at("root")),
            ("LD_PRELOAD", &at("linked/x.so")),
            ("URL", "http://h:1/x"),
            ("RELATIVE", "a:b"),
        ]);
        let outside = process_env.outside(&root);
        let found: Vec<_> =
            outside.variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let expected = [
            ("HOME", at("root")),
            ("PATH", format!("{}:/usr/bin", at("bin"))),
            ("RELATIVE", "a:b".into()),
            ("URL", "http://h:1/x".into()),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn programs_are_found_only_on_absolute_folders_of_path() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tool = crate::test_program::program(&other.path().join("tool"), &[]);
        let path = prepend_paths([one.path()], Some(other.path().as_os_str()));
        let mut process_env = ProcessEnv::default();
        assert_eq!(process_env.find_program("tool"), None);
        process_env.variables.insert("PATH".into(), path);
        assert_eq!(process_env.find_program("tool"), Some(tool));
        process_env.variables.insert("PATH".into(), ".".into());
        assert_eq!(process_env.find_program("tool"), None);
    }
}
