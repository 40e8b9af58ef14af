//! Environment variables, with names that compare as they do on this system.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use files::uppercase;

/// Environment variables with their values. A name keeps the spelling that it had first.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    /// The name as it is written and the value, by what is compared.
    all: BTreeMap<OsString, (OsString, OsString)>,
}

/// The form in which equal names are equal: on Windows, `Path` and `PATH` are one.
fn key(name: &OsStr) -> OsString {
    match name.to_str().filter(|_| cfg!(windows)) {
        Some(name) => uppercase(name).into(),
        None => name.to_owned(),
    }
}

impl Variables {
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.all.get(&key(name.as_ref())).map(|(_, value)| value.as_os_str())
    }

    pub fn insert(&mut self, name: OsString, value: OsString) {
        let (_, current) = self.all.entry(key(&name)).or_insert_with(|| (name, OsString::new()));
        *current = value;
    }

    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.all.remove(&key(name.as_ref()));
    }

    pub fn retain(&mut self, is_kept: impl Fn(&OsStr) -> bool) {
        self.all.retain(|_, (name, _)| is_kept(name));
    }

    /// All but the paths that are not `kept`, in lists such as `PATH`, too. A variable of which nothing is left is not there.
    pub(crate) fn with_paths(&self, kept: impl Fn(&OsStr, &Path) -> bool) -> Self {
        let all = self.iter().filter_map(|(name, value)| {
            // It is read with spaces, too.
            let is_spaced = name == "LD_PRELOAD" && value.to_str().is_some_and(|value| value.contains(' '));
            let spaced = || value.to_str().map(|value| value.replace(' ', ":").into());
            let list: OsString = is_spaced.then(spaced).flatten().unwrap_or_else(|| value.to_owned());
            let parts: Vec<PathBuf> = std::env::split_paths(&list).collect();
            if is_url(value) || parts.iter().all(|part| kept(name, part)) {
                return Some((name.to_owned(), value.to_owned()));
            }
            // What puts its folders before nothing leaves an empty one.
            let left = parts.iter().filter(|part| !part.as_os_str().is_empty() && kept(name, part));
            let left = std::env::join_paths(left).ok().filter(|left| !left.is_empty())?;
            Some((name.to_owned(), left))
        });
        all.collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.all.values().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Its colons separate nothing.
fn is_url(value: &OsStr) -> bool {
    value.to_str().is_some_and(|value| value.contains("://"))
}

impl Extend<(OsString, OsString)> for Variables {
    fn extend<I: IntoIterator<Item = (OsString, OsString)>>(&mut self, variables: I) {
        for (name, value) in variables {
            self.insert(name, value);
        }
    }
}

impl FromIterator<(OsString, OsString)> for Variables {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let mut all = Self::default();
        all.extend(variables);
        all
    }
}

impl<const N: usize> From<[(OsString, OsString); N]> for Variables {
    fn from(variables: [(OsString, OsString); N]) -> Self {
        variables.into_iter().collect()
    }
}

impl IntoIterator for Variables {
    type Item = (OsString, OsString);
    type IntoIter = std::collections::btree_map::IntoValues<OsString, (OsString, OsString)>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_values()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(windows)]
    use proptest::prelude::*;

    use super::*;

    fn with(variables: &[(&str, &str)]) -> Variables {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn pairs(variables: &Variables) -> Vec<(&str, &str)> {
        variables.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect()
    }

    #[cfg(windows)]
    #[test]
    fn on_windows_a_variable_has_one_value_however_its_name_is_written() {
        let mut variables = with(&[("Path", "old"), ("HOME", "h")]);
        variables.insert("PATH".into(), "new".into());
        assert_eq!(pairs(&variables), [("HOME", "h"), ("Path", "new")]);
        assert_eq!(variables.get("path"), Some(OsStr::new("new")));
        variables.remove("pATH");
        assert_eq!(variables.get("Path"), None);
        assert_eq!(with(&[("straße", "1")]).get("STRASSE"), None);
        assert_eq!(with(&[("größe", "1")]).get("GRÖßE"), Some(OsStr::new("1")));
    }

    #[cfg(unix)]
    #[test]
    fn elsewhere_each_spelling_is_a_variable() {
        let variables = with(&[("http_proxy", "1"), ("HTTP_PROXY", "2")]);
        assert_eq!(pairs(&variables), [("HTTP_PROXY", "2"), ("http_proxy", "1")]);
    }

    #[cfg(windows)]
    proptest! {
        #[test]
        fn no_two_names_differ_in_case_only(names in prop::collection::vec("[a-cA-Cäéß]{1,2}", 0..12)) {
            let mut variables = with(&[]);
            for (number, name) in names.iter().enumerate() {
                variables.insert(name.into(), number.to_string().into());
                let value = OsString::from(number.to_string());
                prop_assert_eq!(variables.get(name.to_lowercase()), Some(&*value));
            }
            let keys: Vec<String> = variables.iter().map(|(name, _)| uppercase(name.to_str().unwrap())).collect();
            let distinct: std::collections::HashSet<&String> = keys.iter().collect();
            prop_assert_eq!(distinct.len(), keys.len());
        }
    }
}
