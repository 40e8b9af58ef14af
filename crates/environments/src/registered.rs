//! Pythons of Windows that are not on `PATH`: those in the registry (PEP 514), where the installers of python.org, of conda and uv
//! write them and where `py.exe` looks, and those of the Store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ProcessEnv;

/// The prefix of the names of the Store's Pythons. Others in the folder install Python, or open the Store.
const STORE: &str = "PythonSoftwareFoundation.Python.";

/// A Python in the registry.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    /// For example `PythonCore` or `ContinuumAnalytics`.
    pub(super) company: String,
    /// For example `3.12`, `3.12-32` or `Anaconda39-64`.
    pub(super) tag: String,
    /// For example `3.12`, if it is known.
    pub(super) version: Option<String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) executable: Option<PathBuf>,
}

impl Registered {
    fn interpreter(&self) -> Option<PathBuf> {
        // Only python.org's may leave the executable out.
        let default = || Some(self.folder.as_ref().filter(|_| self.is_official())?.join("python.exe"));
        self.executable.clone().or_else(default)
    }

    fn is_official(&self) -> bool {
        self.company.eq_ignore_ascii_case("PythonCore")
    }

    /// What is greater is preferred: 64 bits, then a newer version, then python.org's.
    fn rank(&self) -> (bool, Vec<u32>, bool) {
        let is_official = self.is_official();
        let version = self.version.as_deref().or(Some(&*self.tag).filter(|_| is_official));
        (!self.tag.ends_with("-32"), version.map(numbers).unwrap_or_default(), is_official)
    }
}

/// The numbers of a version: `[3, 12]` of `3.12-32`.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(leading_number).collect()
}

fn leading_number(text: &str) -> Option<u32> {
    text[..text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

/// The interpreters of these Pythons, the preferred first. The first of equal ones is the user's own.
pub(super) fn interpreters(mut registered: Vec<Registered>) -> Vec<PathBuf> {
    registered.sort_by_key(|python| std::cmp::Reverse(python.rank()));
    let mut found: Vec<PathBuf> = registered.iter().filter_map(Registered::interpreter).collect();
    let mut seen = std::collections::HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// The interpreters of the Store, the newest first. `local` is `%LOCALAPPDATA%`.
pub(super) fn from_store(local: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(local.join("Microsoft/WindowsApps")).into_iter().flatten().flatten();
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = numbers(name.strip_prefix(STORE)?);
            // An alias, which Windows does not open. The standard library says of it that it is a file.
            let path = entry.path().join("python.exe");
            path.is_file().then_some((version, path))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Pythons of this machine that are not on `PATH`, the preferred first. Some may not run.
#[cfg(windows)]
pub(super) fn pythons(process_env: &ProcessEnv) -> Vec<PathBuf> {
    let store = process_env.path("LOCALAPPDATA").map(|local| from_store(&local));
    interpreters(registry::read()).into_iter().chain(store.unwrap_or_default()).collect()
}

#[cfg(not(windows))]
pub(super) fn pythons(_process_env: &ProcessEnv) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(windows)]
mod registry {
    use windows_registry::{CURRENT_USER, Key, LOCAL_MACHINE};

    use super::Registered;

    /// Where Pythons are in the registry of the user and of the machine. Those of 32 bits of the machine have a place of their own.
    const KEYS: [(&Key, &str); 3] = [
        (CURRENT_USER, r"Software\Python"),
        (LOCAL_MACHINE, r"Software\Python"),
        (LOCAL_MACHINE, r"Software\Wow6432Node\Python"),
    ];

    pub(super) fn read() -> Vec<Registered> {
        KEYS.iter().filter_map(|(root, path)| root.open(path).ok()).flat_map(|key| read_below(&key)).collect()
    }

    pub(super) fn read_below(pythons: &Key) -> Vec<Registered> {
        let mut found = Vec::new();
        for (company, companys) in children(pythons) {
            // The launcher's own settings.
            if company.eq_ignore_ascii_case("PyLauncher") {
                continue;
            }
            for (tag, python) in children(&companys) {
                let Ok(installation) = python.open("InstallPath") else { continue };
                let text = |key: &Key, name| key.get_string(name).ok().filter(|text| !text.is_empty());
                found.push(Registered {
                    company: company.clone(),
                    tag,
                    version: text(&python, "SysVersion"),
                    folder: text(&installation, "").map(Into::into),
                    executable: text(&installation, "ExecutablePath").map(Into::into),
                });
            }
        }
        found
    }

    fn children(key: &Key) -> Vec<(String, Key)> {
        let names = key.keys().into_iter().flatten();
        names.filter_map(|name| Some((name.clone(), key.open(&name).ok()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(company: &str, tag: &str, version: &str, folder: &str, executable: &str) -> Registered {
        let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        Registered {
            company: company.into(),
            tag: tag.into(),
            version: text(version),
            folder: text(folder).map(Into::into),
            executable: text(executable).map(Into::into),
        }
    }

    #[test]
    fn the_newest_comes_first_and_those_of_32_bits_last() {
        let found = interpreters(vec![
            python("PythonCore", "3.9", "", "p39", ""),
            python("PythonCore", "3.14-32", "3.14", "p314-32", "p314-32/python.exe"),
            python("ContinuumAnalytics", "Anaconda312-64", "3.12", "conda", "conda/python.exe"),
            python("PythonCore", "3.12", "3.12", "p312", "p312/python.exe"),
            python("PythonCore", "3.12", "3.12", "of the machine", "p312/python.exe"),
            python("Astral", "CPython3.13.1", "3.13.1", "uv", "uv/python.exe"),
            python("Unknown", "x", "", "without a program", ""),
        ]);
        let expected =
            ["uv/python.exe", "p312/python.exe", "conda/python.exe", "p39/python.exe", "p314-32/python.exe"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn the_stores_pythons_are_found_and_what_opens_the_store_is_not() {
        let local = tempfile::tempdir().unwrap();
        let apps = local.path().join("Microsoft/WindowsApps");
        let of = |version: &str| apps.join(format!("{STORE}{version}_qbz5n2kfra8p0/python.exe"));
        let further =
            ["PythonSoftwareFoundation.PythonManager_1/python.exe", "python.exe"].map(|it| apps.join(it));
        for path in [of("3.9"), of("3.13"), of("3.12")].iter().chain(&further) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(apps.join(format!("{STORE}3.14_removed"))).unwrap();
        assert_eq!(from_store(local.path()), [of("3.13"), of("3.12"), of("3.9")]);
        assert_eq!(from_store(Path::new("/nowhere")), Vec::<PathBuf>::new());
    }

    #[cfg(windows)]
    #[test]
    fn the_registry_is_read() {
        let place = format!(r"Software\cellbridge-test-{}", std::process::id());
        let create = |path: &str| windows_registry::CURRENT_USER.create(format!(r"{place}\{path}")).unwrap();
        create("PyLauncher");
        create(r"PythonCore\3.8");
        create(r"PythonCore\3.12").set_string("SysVersion", "3.12").unwrap();
        create(r"PythonCore\3.12\InstallPath").set_string("", r"C:\p312\").unwrap();
        create(r"conda\x\InstallPath").set_string("ExecutablePath", r"C:\c\python.exe").unwrap();
        let found = registry::read_below(&windows_registry::CURRENT_USER.open(&place).unwrap());
        windows_registry::CURRENT_USER.remove_tree(&place).unwrap();
        assert_eq!(interpreters(found), [r"C:\p312\python.exe", r"C:\c\python.exe"].map(PathBuf::from));
    }
}
