//! Where files are, on a machine that is described by values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    pub const ALL: [Self; 3] = [Self::Linux, Self::MacOs, Self::Windows];

    /// The one that this program was built for. Other Unix systems are as Linux.
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// What decides where a client's files are.
#[derive(Debug, Clone)]
pub struct Machine {
    pub system: System,
    pub home: PathBuf,
    pub variables: BTreeMap<String, OsString>,
}

impl Machine {
    /// The machine that this program runs on. Variables that are not UTF-8 name nothing.
    pub fn current(home: PathBuf, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables =
            variables.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self { system: System::current(), home, variables: variables.collect() }
    }

    /// The file that a command starts: an absolute path, or a program on `PATH`.
    pub fn find_command(&self, command: &str) -> Option<PathBuf> {
        let path = Path::new(command);
        if path.components().count() > 1 {
            return (path.is_absolute() && path.is_file()).then(|| path.to_path_buf());
        }
        self.find_program(command)
    }

    /// A variable's value, unless it is empty. On Windows, `Path` and `PATH` are one.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        let is_windows = self.system == System::Windows;
        let mut all = self.variables.iter();
        let (_, value) =
            all.find(|(key, _)| *key == name || (is_windows && key.eq_ignore_ascii_case(name)))?;
        Some(value).filter(|value| !value.is_empty())
    }

    /// The first file of that name in the folders of `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let endings: &[&str] = if self.system == System::Windows { &[".exe", ".cmd", ".bat"] } else { &[""] };
        let folders = std::env::split_paths(self.variable("PATH")?).filter(|it| it.is_absolute());
        folders
            .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{name}{ending}"))))
            .find(|file| file.is_file())
    }

    fn folder(&self, base: Base) -> Option<PathBuf> {
        let variable = |name: &str| self.variable(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let in_home = |path: &str| self.home.join(path);
        match (base, self.system) {
            (Base::Home, _) => Some(self.home.clone()),
            (Base::Variable(name), _) => variable(name),
            (Base::Config, System::MacOs) => Some(in_home("Library/Application Support")),
            (Base::Config, System::Windows) => {
                variable("APPDATA").or_else(|| Some(in_home("AppData/Roaming")))
            }
            (Base::Config, System::Linux) | (Base::Xdg, _) => {
                variable("XDG_CONFIG_HOME").or_else(|| Some(in_home(".config")))
            }
        }
    }
}

/// A folder that a path begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Home,
    /// Linux `~/.config`, macOS `~/Library/Application Support`, Windows `%APPDATA%`.
    Config,
    /// `~/.config` on every system. `$XDG_CONFIG_HOME` moves it.
    Xdg,
    /// The folder that a variable names. There is no such place while it is not set.
    Variable(&'static str),
}

/// A file of a client.
#[derive(Debug, Clone, Copy)]
pub struct Location {
    pub systems: &'static [System],
    pub base: Base,
    /// Exists where the client is installed; may be the file itself.
    pub folder: &'static str,
    /// Its path below the folder.
    pub file: &'static str,
}

impl Location {
    pub(crate) const fn new(base: Base, folder: &'static str, file: &'static str) -> Self {
        Self::on(&System::ALL, base, folder, file)
    }

    pub(crate) const fn on(
        systems: &'static [System],
        base: Base,
        folder: &'static str,
        file: &'static str,
    ) -> Self {
        Self { systems, base, folder, file }
    }

    pub fn resolve(&self, machine: &Machine) -> Option<PathBuf> {
        Some(joined(self.folder(machine)?, self.file))
    }

    pub(crate) fn folder(&self, machine: &Machine) -> Option<PathBuf> {
        let base = self.systems.contains(&machine.system).then(|| machine.folder(self.base))??;
        Some(joined(base, self.folder))
    }
}

pub(crate) fn joined(folder: PathBuf, path: &str) -> PathBuf {
    path.split('/').filter(|part| !part.is_empty()).fold(folder, |path, part| path.join(part))
}

/// Whose configuration: the user's, or that of the project in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    User,
    Project(&'a Path),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(system: System, variables: &[(&str, &str)]) -> Machine {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        Machine { system, home: "/home/ada".into(), variables }
    }

    #[test]
    fn each_system_has_its_folders() {
        let config = Location::new(Base::Config, "Claude", "x.json");
        let resolve = |system, variables: &[_]| config.resolve(&machine(system, variables)).unwrap();
        assert_eq!(resolve(System::Linux, &[]), Path::new("/home/ada/.config/Claude/x.json"));
        assert_eq!(resolve(System::Linux, &[("XDG_CONFIG_HOME", "/c")]), Path::new("/c/Claude/x.json"));
        let support = Path::new("/home/ada/Library/Application Support/Claude/x.json");
        assert_eq!(resolve(System::MacOs, &[("XDG_CONFIG_HOME", "/c")]), support);
    }

    #[test]
    fn a_variable_that_is_empty_or_relative_names_no_folder() {
        let location = Location::new(Base::Variable("CODEX_HOME"), "", "config.toml");
        for value in ["", "relative"] {
            assert_eq!(location.resolve(&machine(System::Linux, &[("CODEX_HOME", value)])), None);
        }
        let set = machine(System::Linux, &[("CODEX_HOME", "/codex")]);
        assert_eq!(location.resolve(&set).unwrap(), Path::new("/codex/config.toml"));
    }
}
