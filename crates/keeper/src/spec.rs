//! What a server sends to the process of a new keeper, and the answer.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::kernel_file::{ChosenKernel, KernelFile};
use crate::lifetime::Lifetimes;
use crate::protocol::VERSION;

/// What a keeper is asked to keep. A server sends it to the keeper's process, which may be of a later version.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeeperSpec {
    /// The folder that the keeper makes for itself.
    pub folder: PathBuf,
    /// The kernel's id.
    pub id: String,
    pub choice: ChosenKernel,
    pub working_folder: PathBuf,
    /// The notebook for which the kernel is started, without symbolic links.
    pub notebook: Option<PathBuf>,
    /// The environment of the keeper and its kernel.
    pub variables: Vec<(OsString, OsString)>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// How long the kernel may take until it answers.
    pub start_timeout: Duration,
    pub lifetimes: Lifetimes,
    /// What stores the runs of servers that have gone.
    pub program: PathBuf,
}

/// How the start of a kernel went.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Ready,
    /// The kernel does not start.
    Failed {
        cause: String,
        next: String,
    },
    /// There can be no keeper here.
    Unable {
        cause: String,
    },
}

impl KeeperSpec {
    /// What the folder of this process, the keeper, says about its kernel, which is reached by `socket`.
    pub(crate) fn kernel_file(&self, socket: PathBuf) -> KernelFile {
        KernelFile {
            id: self.id.clone(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: VERSION,
            choice: self.choice.clone(),
            folder: self.working_folder.clone(),
            notebook: self.notebook.clone(),
            started_at: SystemTime::now(),
            process: std::process::id(),
            socket,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kernel_file::tests::record;

    pub(crate) fn spec(folder: PathBuf) -> KeeperSpec {
        KeeperSpec {
            folder,
            id: "id".to_owned(),
            choice: record("/s".into()).choice,
            working_folder: "/".into(),
            notebook: None,
            variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
            home: None,
            start_timeout: Duration::from_secs(60),
            lifetimes: Lifetimes::of_idle(Duration::from_secs(60)),
            program: "/k".into(),
        }
    }
}
