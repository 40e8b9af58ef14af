//! Reads `kernel.json` as leniently as `jupyter_client.kernelspec`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InstalledKernelspec {
    /// In lower case.
    pub name: String,
    /// The folder of its `kernel.json`; empty if there is none.
    pub resources: PathBuf,
    pub argv: Vec<String>,
    pub display_name: String,
    pub language: String,
    pub env: BTreeMap<String, String>,
    pub interrupt_mode: InterruptMode,
}

/// How a kernel is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum InterruptMode {
    /// SIGINT.
    #[default]
    Signal,
    /// `interrupt_request` on the control channel.
    Message,
}

#[derive(Deserialize)]
struct File {
    argv: Vec<String>,
    #[serde(default, deserialize_with = "lenient")]
    display_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    language: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    env: Option<BTreeMap<String, Value>>,
    #[serde(default, deserialize_with = "lenient")]
    interrupt_mode: Option<String>,
}

/// A value of the right type, else nothing: a kernel with a malformed display name can still be started.
fn lenient<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}

impl InstalledKernelspec {
    pub(crate) fn is_of(&self, language: &str) -> bool {
        self.language.eq_ignore_ascii_case(language)
    }

    pub(crate) fn needs_ipykernel(&self) -> bool {
        self.argv.iter().any(|argument| argument.starts_with("ipykernel"))
    }

    /// Reads `<resources>/kernel.json`.
    pub fn read(name: &str, resources: &Path) -> Result<Self, String> {
        let path = resources.join("kernel.json");
        let text = fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let file: File = serde_json::from_slice(text)
            .map_err(|error| format!("{} is not a kernelspec: {error}", path.display()))?;
        if file.argv.is_empty() {
            return Err(format!("{} has an empty argv", path.display()));
        }
        let env = file.env.unwrap_or_default().into_iter().filter_map(|(key, value)| match value {
            Value::String(text) => Some((key, text)),
            Value::Number(_) | Value::Bool(_) => Some((key, value.to_string())),
            _ => None,
        });
        let by_message = file.interrupt_mode.is_some_and(|mode| mode.eq_ignore_ascii_case("message"));
        Ok(Self {
            name: name.to_lowercase(),
            resources: resources.to_path_buf(),
            argv: file.argv,
            display_name: file
                .display_name
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| name.to_owned()),
            language: file.language.unwrap_or_default(),
            env: env.collect(),
            interrupt_mode: if by_message { InterruptMode::Message } else { InterruptMode::Signal },
        })
    }
}

/// All kernelspecs in `folders`, sorted by name. Of two with the same name, the one in the earlier folder counts.
///
/// Unreadable ones are logged and left out, as by `jupyter kernelspec list`.
pub fn list(folders: &[PathBuf]) -> Vec<InstalledKernelspec> {
    let (specs, unreadable) = read_all(folders);
    for cause in unreadable {
        tracing::warn!("ignored a kernelspec: {cause}");
    }
    specs
}

/// The kernelspecs as in [`list`], and why others cannot be read.
pub(crate) fn read_all(folders: &[PathBuf]) -> (Vec<InstalledKernelspec>, Vec<String>) {
    let mut specs: BTreeMap<String, InstalledKernelspec> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder.join("kernels")) else { continue };
        let mut names: Vec<_> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // If two names differ only in case, the same one is chosen every time.
        names.sort();
        for name in names {
            let resources = folder.join("kernels").join(&name);
            if specs.contains_key(&name.to_lowercase()) || !resources.join("kernel.json").is_file() {
                continue;
            }
            match InstalledKernelspec::read(&name, &resources) {
                Ok(spec) => drop(specs.insert(spec.name.clone(), spec)),
                Err(cause) => unreadable.push(cause),
            }
        }
    }
    (specs.into_values().collect(), unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, name: &str, text: &str) {
        let resources = folder.join("kernels").join(name);
        fs::create_dir_all(&resources).unwrap();
        fs::write(resources.join("kernel.json"), text).unwrap();
    }

    #[test]
    fn the_earlier_folder_wins_and_case_is_ignored() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        install(one.path(), "IR", r#"{"argv": ["R"], "display_name": "R one", "language": "R"}"#);
        install(other.path(), "ir", r#"{"argv": ["R"], "display_name": "R other"}"#);
        install(other.path(), "bash", r#"{"argv": ["python", "-m", "bash_kernel"]}"#);
        let specs = list(&[one.path().into(), other.path().into(), "/nowhere".into()]);
        let names: Vec<_> =
            specs.iter().map(|spec| (&*spec.name, &*spec.display_name, &*spec.language)).collect();
        assert_eq!(names, [("bash", "bash", ""), ("ir", "R one", "R")]);
    }

    #[test]
    fn malformed_fields_are_ignored_and_unusable_kernelspecs_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let odd = r#"{"argv": ["k"], "display_name": 3, "language": null, "env": {"A": 1, "B": "b", "C": {}},
                     "interrupt_mode": "MESSAGE", "metadata": [], "new": 1}"#;
        install(folder.path(), "odd", &format!("\u{feff}{odd}"));
        install(folder.path(), "broken", "{");
        install(folder.path(), "without", r#"{"display_name": "x"}"#);
        install(folder.path(), "empty", r#"{"argv": []}"#);
        fs::create_dir_all(folder.path().join("kernels/no-file")).unwrap();
        let specs = list(&[folder.path().into()]);
        let [spec] = &*specs else { panic!("{specs:?}") };
        assert_eq!((&*spec.display_name, spec.interrupt_mode), ("odd", InterruptMode::Message));
        assert_eq!(spec.env, [("A".into(), "1".into()), ("B".into(), "b".into())].into());
    }
}
