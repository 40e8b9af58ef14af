//! What a process inherits, handed in by whoever may read it: this crate never looks at its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment variables and the home folder that kernels and searches see.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The environment variables. Kernels get all of them.
    pub variables: BTreeMap<OsString, OsString>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
}

impl Surroundings {
    /// The value of a variable. `None` if it is unset or empty, as everything that reads these variables has it.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        let found = if cfg!(windows) {
            self.variables.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        } else {
            self.variables.get(OsStr::new(name))
        };
        found.map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The value of a variable as a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// The folders of a variable in the form of `PATH`.
    pub(crate) fn paths(&self, name: &str) -> Vec<PathBuf> {
        self.get(name).map(|value| split_paths(value).collect()).unwrap_or_default()
    }

    /// Whether a variable says yes, by Jupyter's rule: anything but `no`, `n`, `false`, `off`, `0` and `0.0`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?.to_string_lossy().to_ascii_lowercase();
        Some(!["no", "n", "false", "off", "0", "0.0"].contains(&value.as_str()))
    }

    /// The first executable of that name on `PATH`.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        // Never relative to where we happen to run: with `.` on PATH, what lies in a notebook's folder would run.
        let mut folders = self.paths("PATH").into_iter().filter(|folder| folder.is_absolute());
        folders.find_map(|folder| which::which_in(name, Some(&folder), Path::new("/")).ok())
    }

    /// Where Jupyter keeps a person's data files (`jupyter_core.paths.jupyter_data_dir`).
    pub(crate) fn jupyter_data(&self) -> Option<PathBuf> {
        if let Some(folder) = self.path("JUPYTER_DATA_DIR") {
            return Some(folder);
        }
        if cfg!(target_os = "macos") {
            return Some(self.home.as_ref()?.join("Library/Jupyter"));
        }
        if cfg!(windows) {
            return self.path("APPDATA").map(|folder| folder.join("jupyter"));
        }
        Some(self.xdg_data()?.join("jupyter"))
    }

    /// Where connection files lie (`jupyter_core.paths.jupyter_runtime_dir`).
    pub(crate) fn jupyter_runtime(&self) -> Option<PathBuf> {
        self.path("JUPYTER_RUNTIME_DIR").or_else(|| Some(self.jupyter_data()?.join("runtime")))
    }

    /// The folder for this program's own data.
    pub(crate) fn own_data(&self) -> Option<PathBuf> {
        let data = if cfg!(target_os = "macos") {
            self.home.as_ref()?.join("Library/Application Support")
        } else if cfg!(windows) {
            self.path("LOCALAPPDATA")?
        } else {
            self.xdg_data()?
        };
        Some(data.join("cellbridge"))
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        let named = if cfg!(windows) { self.path("TEMP") } else { self.path("TMPDIR") };
        named.filter(|folder| folder.is_absolute()).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    fn xdg_data(&self) -> Option<PathBuf> {
        // The XDG specification wants relative paths ignored.
        let named = self.path("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
        named.or_else(|| Some(self.home.as_ref()?.join(".local/share")))
    }
}

/// Splits a value in the form of `PATH`.
#[cfg(unix)]
fn split_paths(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let folders = value.as_bytes().split(|byte| *byte == b':').filter(|folder| !folder.is_empty());
    folders.map(|folder| PathBuf::from(OsStr::from_bytes(folder)))
}

/// Splits a value in the form of `PATH`.
#[cfg(not(unix))]
fn split_paths(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    let value = value.to_string_lossy().into_owned();
    let folders: Vec<PathBuf> =
        value.split(';').filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
    folders.into_iter()
}

/// Puts `folder` before the others of a value in the form of `PATH`.
pub(crate) fn before(folder: &Path, others: Option<&OsStr>) -> OsString {
    let mut all = folder.as_os_str().to_owned();
    if let Some(others) = others {
        all.push(if cfg!(windows) { ";" } else { ":" });
        all.push(others);
    }
    all
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Surroundings with these variables and no home.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(key, value)| (key.into(), value.into())).collect();
        Surroundings { variables, home: None }
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let surroundings = with(&[("JUPYTER_DATA_DIR", ""), ("XDG_DATA_HOME", "/data")]);
        assert_eq!(surroundings.get("JUPYTER_DATA_DIR"), None);
        #[cfg(target_os = "linux")]
        assert_eq!(surroundings.jupyter_data(), Some("/data/jupyter".into()));
    }

    #[test]
    fn flags_follow_the_rule_of_jupyter() {
        for (value, expected) in [("1", true), ("yes", true), ("0", false), ("False", false), ("off", false)]
        {
            assert_eq!(with(&[("F", value)]).flag("F"), Some(expected), "{value}");
        }
        assert_eq!(with(&[]).flag("F"), None);
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_on_the_given_path_alone() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        crate::tests::script(&other.path().join("tool"), "exit 0");
        let path = before(one.path(), Some(other.path().as_os_str()));
        let mut surroundings = Surroundings::default();
        assert_eq!(surroundings.program("tool"), None);
        surroundings.variables.insert("PATH".into(), path);
        assert_eq!(surroundings.program("tool"), Some(other.path().join("tool")));
        surroundings.variables.insert("PATH".into(), ".".into());
        assert_eq!(surroundings.program("tool"), None);
    }
}
