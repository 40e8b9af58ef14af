//! The foreign kernels of this machine, for people.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::foreign_kernel::language_name;
use super::search::{find, living, on_files};
use environments::ProcessEnv;

/// A kernel that another program has started, and that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKernelInfo {
    /// What `jupyter console --existing` takes.
    pub id: String,
    /// Whether it works on something.
    pub is_busy: bool,
    /// The kernelspec's name, if its connection file has it.
    pub kernel_name: Option<String>,
    /// The language in lower case, if the kernel says it now.
    pub language: Option<String>,
    /// Who has started it, as far as that can be seen.
    pub origin: String,
    /// What it was started for, often the path of a notebook.
    pub session: Option<String>,
    pub started_at: SystemTime,
    pub connection_file: PathBuf,
}

/// A connection file that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedFile {
    pub path: PathBuf,
    /// Why, as the end of a sentence.
    pub reason: String,
}

/// The foreign kernels of this user that answer now, the newest first, and the connection files that are not used.
pub async fn foreign_kernels(process_env: &ProcessEnv) -> (Vec<ForeignKernelInfo>, Vec<RefusedFile>) {
    let process_env = Arc::new(process_env.clone());
    let (files, refused) = on_files(process_env, |process_env| find(process_env, HashSet::new())).await;
    let kernels = living(files, |_| false).await.into_iter().map(|(file, probe)| ForeignKernelInfo {
        is_busy: probe.as_ref().is_some_and(|probe| probe.is_busy),
        kernel_name: file.kernel_name().map(str::to_owned),
        language: probe.and_then(|probe| language_name(&probe.language_info?)),
        origin: file.origin(),
        id: file.id,
        session: file.session,
        started_at: file.written_at,
        connection_file: file.path,
    });
    (kernels.collect(), refused.into_iter().map(|(path, reason)| RefusedFile { path, reason }).collect())
}

/// Whether there is a connection file of an external kernel with this id, or with one that starts with this text.
pub fn is_foreign_kernel(process_env: &ProcessEnv, id: &str) -> bool {
    find(process_env, HashSet::new()).0.iter().any(|file| file.id.starts_with(id))
}
