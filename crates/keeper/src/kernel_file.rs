//! The file in a keeper's folder that describes its kernel.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::VERSION;

/// The name of the file.
pub(crate) const KERNEL_FILE: &str = "kernel.json";

/// What a launcher starts. It knows all of this; everybody else needs only the names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChosenKernel(Value);

impl ChosenKernel {
    /// Describes the choice of a launcher, which has a `program`, and a `kernelspec` with a `name` and a `display_name`. Fails if it has a
    /// path that is not UTF-8.
    pub fn new(choice: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::to_value(choice).map(Self)
    }

    /// The choice, as its launcher knows it. Fails if another version of the launcher has described it in another way.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        T::deserialize(&self.0)
    }

    /// The interpreter or program that the kernel runs.
    pub fn program(&self) -> &Path {
        Path::new(self.0["program"].as_str().unwrap_or_default())
    }

    /// The name of its kernelspec for people.
    pub fn display_name(&self) -> &str {
        self.0["kernelspec"]["display_name"].as_str().unwrap_or_default()
    }

    fn is(&self, kernelspec: &str, program: &Path) -> bool {
        self.0["kernelspec"]["name"] == kernelspec && self.program() == program
    }
}

/// What a keeper's folder says about its kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelFile {
    /// The kernel's id.
    pub id: String,
    /// The version of this program that its keeper is.
    pub program_version: String,
    /// The version of the protocol that its keeper speaks, and in which its log is written.
    #[serde(default = "first_version")]
    pub protocol: u32,
    pub choice: ChosenKernel,
    /// The working directory.
    pub folder: PathBuf,
    /// The notebook for which it was started, without symbolic links.
    pub notebook: Option<PathBuf>,
    pub started_at: SystemTime,
    /// The keeper's process.
    pub process: u32,
    /// Not there before the kernel is ready.
    pub socket: PathBuf,
}

/// Keepers of the first version do not write it down.
fn first_version() -> u32 {
    1
}

impl KernelFile {
    /// Whether the log can be read here, as far as is known.
    pub fn is_readable(&self) -> bool {
        self.protocol <= VERSION
    }

    /// Whether it is the kernel of `notebook`, started from the kernelspec of this name with this program.
    pub fn is_of(&self, notebook: &Path, kernelspec: &str, program: &Path) -> bool {
        self.notebook.as_deref() == Some(notebook) && self.choice.is(kernelspec, program)
    }

    /// Whether it is for code of no notebook in `folder`, started from the kernelspec of this name with this program.
    pub fn is_of_no_notebook(&self, folder: &Path, kernelspec: &str, program: &Path) -> bool {
        self.notebook.is_none() && self.folder == folder && self.choice.is(kernelspec, program)
    }

    /// Whether the kernel has been ready.
    pub fn is_ready(&self) -> bool {
        self.socket.exists()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The file of a kernel `id` of no notebook.
    pub(crate) fn record(socket: PathBuf) -> KernelFile {
        let kernelspec = serde_json::json!({
            "name": "k", "resources": "", "argv": ["k"], "display_name": "K", "language": "k", "env": {},
            "interrupt_mode": "Signal",
        });
        let choice = serde_json::json!({ "kernelspec": kernelspec, "program": "/k", "environment": null });
        KernelFile {
            id: "id".to_owned(),
            program_version: "1".to_owned(),
            protocol: VERSION,
            choice: serde_json::from_value(choice).unwrap(),
            folder: "/".into(),
            notebook: None,
            started_at: SystemTime::now(),
            process: 1,
            socket,
        }
    }

    #[test]
    fn records_of_the_first_version_do_not_name_it() {
        let mut written = serde_json::to_value(record("/s".into())).unwrap();
        assert_eq!(written.as_object_mut().unwrap().remove("protocol"), Some(VERSION.into()));
        let read: KernelFile = serde_json::from_value(written).unwrap();
        assert!(read.is_readable());
        assert_eq!(read.protocol, 1);
        assert!(!KernelFile { protocol: VERSION + 1, ..read }.is_readable());
    }

    #[test]
    fn a_launcher_reads_what_it_has_described() {
        let choice = serde_json::json!({
            "kernelspec": { "name": "k", "display_name": "K", "argv": ["k"] }, "program": "/k", "environment": null,
        });
        let chosen = ChosenKernel::new(&choice).unwrap();
        assert_eq!(chosen.read::<Value>().unwrap(), choice);
        assert!(chosen.is("k", Path::new("/k")) && !chosen.is("k", Path::new("/other")));
    }
}
