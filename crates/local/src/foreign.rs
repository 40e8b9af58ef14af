//! Foreign kernels: those of this machine that other programs have started (`jupyter console`, Spyder, a Jupyter server), known by
//! the connection files in Jupyter's runtime folder. They are joined, and never restarted or ended.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use futures_util::future::ready;
use futures_util::stream;
use parking_lot::Mutex;
use place::{Error, ErrorKind, NextStep};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use transports::{Probe, probe};

use environments::ProcessEnv;

mod file;
mod foreign_kernel;
mod list;
mod own_file;
mod process;

use file::{ForeignFile, Refusal, id_of};
use foreign_kernel::ForeignKernel;
pub use list::{ForeignKernelInfo, RefusedFile, foreign_kernels, is_foreign_kernel};
use own_file::refusal_of_folder;

/// How long a kernel may take to answer its heartbeat, which a thread of its own does.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long asking all of them may take. Those that have not answered by then are left out.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);
/// How many kernels are asked at once.
const PROBES: usize = 32;
/// How many connection files are looked at, the newest first: a kernel that is killed leaves its file behind.
const MAX_FILES: usize = 256;

/// The foreign kernels that a folder has listed or joined.
pub(crate) struct ForeignKernels {
    process_env: Arc<ProcessEnv>,
    /// By id. `None` once the place has shut down.
    known: Mutex<Option<HashMap<String, Arc<ForeignKernel>>>>,
}

impl ForeignKernels {
    pub(crate) fn new(process_env: Arc<ProcessEnv>) -> Self {
        Self { process_env, known: Mutex::new(Some(HashMap::new())) }
    }

    /// Those that answer now, the newest first, without those that have an id of `ours`.
    pub(crate) async fn list(&self, ours: HashSet<String>) -> Vec<Arc<ForeignKernel>> {
        let found = on_files(self.process_env.clone(), move |process_env| find(process_env, ours).0).await;
        let living = living(found, |file| self.known(&file.id).is_some_and(|it| it.is_connected())).await;
        let mut known = self.known.lock();
        let Some(known) = &mut *known else { return Vec::new() };
        let kernels = living.into_iter().map(|(file, probe)| {
            let kernel = known
                .entry(file.id.clone())
                .or_insert_with(|| ForeignKernel::new(file.clone(), self.process_env.clone()));
            kernel.update(file, probe);
            kernel.clone()
        });
        let kernels: Vec<_> = kernels.collect();
        // What a notebook uses stays known: its program may be restarting it.
        known.retain(|_, kernel| Arc::strong_count(kernel) > 1);
        kernels
    }

    /// Connects to the kernel with this id.
    pub(crate) async fn join(&self, id: &str) -> Result<Arc<ForeignKernel>, Error> {
        if self.known(id).is_none() {
            // It was found in another place: a Jupyter server of this machine.
            self.list(HashSet::new()).await;
        }
        let kernel = self.known(id).ok_or_else(|| self.unknown(id))?;
        kernel.connect().await?;
        Ok(kernel)
    }

    /// Why there is no kernel with this id.
    pub(crate) fn unknown(&self, id: &str) -> Error {
        let path = |folder: PathBuf| folder.join(format!("kernel-{id}.json"));
        let paths = self.process_env.connection_folders().into_iter().map(path);
        // An id is part of a path only if a file can be named so.
        let Some(path) =
            paths.filter(|path| id_of(path) == Some(id)).find(|path| path.symlink_metadata().is_ok())
        else {
            return Error::no_kernel(id);
        };
        if let Some((folder, refusal)) = path.parent().and_then(|it| Some((it, refusal_of_folder(it)?))) {
            let cause = format!("Connection files in {} are not used: {refusal}.", folder.display());
            return Error::new(ErrorKind::Unavailable, cause, NextStep::ListKernels);
        }
        match ForeignFile::read(&path) {
            // It is of a kernel of this program.
            Ok(None) => Error::no_kernel(id),
            Ok(Some(_)) => Error::new(
                ErrorKind::KernelGone,
                format!("Kernel {id} does not answer; its connection file was left behind."),
                NextStep::ListKernels,
            ),
            Err(refusal) => refused(id, &refusal),
        }
    }

    /// Ends the connections. The kernels go on.
    pub(crate) fn leave(&self) {
        for kernel in self.known.lock().take().into_iter().flat_map(HashMap::into_values) {
            kernel.disconnect();
        }
    }

    fn known(&self, id: &str) -> Option<Arc<ForeignKernel>> {
        self.known.lock().as_ref()?.get(id).cloned()
    }
}

/// A connection file is not used.
fn refused(id: &str, refusal: &Refusal) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("The connection file of kernel {id} is not used: {refusal}."),
        NextStep::ListKernels,
    )
}

/// The kernels that answer, with what they do, in the order of `files`. Those that `is_joined` need not be asked.
async fn living(
    files: Vec<ForeignFile>,
    is_joined: impl Fn(&ForeignFile) -> bool,
) -> Vec<(ForeignFile, Option<Probe>)> {
    let end = Instant::now() + LIST_TIMEOUT;
    let asked = files.into_iter().map(|file| {
        let is_joined = is_joined(&file);
        async move {
            if is_joined {
                return Some((file, None));
            }
            let probe = timeout_at(end, probe(&file.info, PROBE_TIMEOUT)).await.ok()??;
            Some((file, Some(probe)))
        }
    });
    // Collected first: the futures borrow nothing then.
    let asked: Vec<_> = asked.collect();
    stream::iter(asked).buffered(PROBES).filter_map(ready).collect().await
}

/// The connection files of foreign kernels, the newest first, and the files and folders that are refused. `ours` are ids of kernels of this
/// program besides those of its keepers. Reads files.
fn find(process_env: &ProcessEnv, ours: HashSet<String>) -> (Vec<ForeignFile>, Vec<(PathBuf, Refusal)>) {
    #[cfg(unix)]
    let kept = keeper::keepers(&process_env.state_folder()).into_iter().map(|(_, record)| record.id);
    #[cfg(not(unix))]
    let kept = std::iter::empty();
    let ours: HashSet<String> = ours.into_iter().chain(kept).collect();
    let (mut found, mut refused): (Vec<ForeignFile>, _) = (Vec::new(), Vec::new());
    let mut folders = process_env.connection_folders();
    folders.retain(|folder| {
        let refusal = refusal_of_folder(folder);
        let is_used = refusal.is_none();
        refused.extend(refusal.map(|refusal| (folder.clone(), refusal)));
        is_used
    });
    for path in newest(folders) {
        let Some(id) = id_of(&path).filter(|id| !is_of(&ours, id)) else { continue };
        if found.iter().any(|file| file.id == id) {
            continue;
        }
        match ForeignFile::read(&path) {
            Ok(file) => found.extend(file),
            Err(refusal) => refused.push((path, refusal)),
        }
    }
    (found, refused)
}

/// Whether this is the id of one of `ours`, or of another process of it, whose file has a number added to its name.
fn is_of(ours: &HashSet<String>, id: &str) -> bool {
    ours.contains(id)
        || id.rsplit_once('-').is_some_and(|(id, number)| number.len() == 1 && ours.contains(id))
}

/// The newest connection files in the folders.
fn newest(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let entries = folders.into_iter().flat_map(fs::read_dir);
    let paths = entries.flatten().flatten().map(|entry| entry.path()).filter(|path| id_of(path).is_some());
    let at = |path: &PathBuf| {
        path.symlink_metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let mut dated: Vec<(SystemTime, PathBuf)> = paths.map(|path| (at(&path), path)).collect();
    dated.sort_by(|one, other| other.cmp(one));
    dated.into_iter().take(MAX_FILES).map(|(_, path)| path).collect()
}

/// Runs work that reads files where it may block.
async fn on_files<T: Default + Send + 'static>(
    process_env: Arc<ProcessEnv>,
    work: impl FnOnce(&ProcessEnv) -> T + Send + 'static,
) -> T {
    spawn_blocking(move || work(&process_env)).await.unwrap_or_default()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
