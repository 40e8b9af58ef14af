//! Finds the connection files of external kernels, and the kernels that answer.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use environments::ProcessEnv;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use futures_util::stream;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use transports::{Probe, probe};

use super::Refusal;
use super::file::{ForeignFile, id_of};
use super::own_file::refusal_of_folder;

/// How long a kernel may take to answer its heartbeat, which a thread of its own does.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long asking all of them may take. Those that have not answered by then are left out.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(3);
/// How many kernels are asked at once.
pub(super) const PROBES: usize = 32;
/// How many connection files are looked at, the newest first: a kernel that is killed leaves its file behind.
const MAX_FILES: usize = 256;

/// The kernels that answer, with what they do, in the order of `files`. Those that `is_joined` need not be asked.
pub(super) async fn living(
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
pub(super) fn find(
    process_env: &ProcessEnv,
    ours: HashSet<String>,
) -> (Vec<ForeignFile>, Vec<(PathBuf, Refusal)>) {
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
    dated.sort_unstable_by(|one, other| other.cmp(one));
    dated.into_iter().take(MAX_FILES).map(|(_, path)| path).collect()
}

/// Runs work that reads files where it may block.
pub(super) async fn on_files<T: Default + Send + 'static>(
    process_env: Arc<ProcessEnv>,
    work: impl FnOnce(&ProcessEnv) -> T + Send + 'static,
) -> T {
    spawn_blocking(move || work(&process_env)).await.unwrap_or_default()
}
