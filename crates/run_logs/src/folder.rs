//! The folder of the logs: who may claim one, and which are removed.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kernel::log::RunRecord;
use sha2::{Digest as _, Sha256};

use crate::past::{Header, Past};
use crate::run_log::RunLog;

/// How long a log is kept that nobody claims.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
const EXTENSION: &str = "log";
const MAX_HEADER_BYTES: u64 = 16 * 1024;

/// A log that somebody may be writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentLog {
    pub path: PathBuf,
    /// The id of the kernel.
    pub kernel: String,
    /// Where its first record is.
    pub start: u64,
}

impl CurrentLog {
    /// Whether the program that writes it lives.
    pub fn is_written(&self) -> bool {
        // Only for a moment: nobody else can claim it during that time.
        File::open(&self.path).is_ok_and(|file| file.try_lock().is_err())
    }
}

/// The folder of the logs.
#[derive(Debug, Clone)]
pub struct RunLogs {
    folder: PathBuf,
}

impl RunLogs {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The logs of runs in folders that wait for their kernel, of no server and no kernel. `state` is the state folder.
    pub fn of_waiting_runs(state: &Path) -> Self {
        Self::new(state.join("waiting"))
    }

    /// A new log.
    pub fn begin(&self, server: &str, kernel: &str) -> RunLog {
        let session = uuid::Uuid::new_v4().to_string();
        let name = format!("{}{session}.{EXTENSION}", prefix(server, kernel));
        let header = Header::new(server, kernel, session);
        RunLog::new(self.folder.join(name), header)
    }

    /// Claims the logs of a kernel whose servers have ended, the oldest first. Removes logs that nobody has claimed for long.
    pub fn claim(&self, server: &str, kernel: &str) -> Vec<(RunLog, Past)> {
        let prefix = prefix(server, kernel);
        let mut claimed = Vec::new();
        for (path, written_at) in self.files() {
            if is_old(written_at) {
                remove_unclaimed(&path);
            } else if is_log(&path)
                && file_name(&path).starts_with(&prefix)
                && let Some(found) = RunLog::claim(&path)
            {
                claimed.push((written_at, found));
            }
        }
        claimed.sort_unstable_by_key(|(written_at, _)| *written_at);
        claimed.into_iter().map(|(_, found)| found).collect()
    }

    /// The kernels of a server of which there are logs; on Windows, without the logs of servers that still run, since no program
    /// can read a file that another one has locked.
    pub fn kernels(&self, server: &str) -> Vec<String> {
        self.current(server).into_iter().map(|log| log.kernel).collect()
    }

    /// The logs of a server's kernels whose runs are not acknowledged yet, also those of programs that still run.
    pub fn current(&self, server: &str) -> Vec<CurrentLog> {
        let logs = self.files().into_iter().filter(|(path, _)| is_log(path));
        let found = logs.filter_map(|(path, _)| {
            let header = read_header(&path).filter(|header| header.server == server)?;
            let start = header.write().len() as u64;
            Some(CurrentLog { path, kernel: header.kernel, start })
        });
        found.collect()
    }

    /// The runs in the logs of a kernel, but one, that it has been sent and has not ended.
    pub fn running(&self, server: &str, kernel: &str, own: &RunLog) -> Vec<RunRecord> {
        let logs =
            self.current(server).into_iter().filter(|log| log.kernel == kernel && log.path != own.path);
        let read = logs.filter_map(|log| Past::read(&fs::read(log.path).ok()?));
        read.flat_map(|past| past.running).collect()
    }

    /// The runs of our servers, on any kernel of a Jupyter server, that are not acknowledged; with each, whether our server has ended.
    pub fn open_runs(&self, server: &str) -> Vec<(RunRecord, bool)> {
        let mut open = Vec::new();
        for log in self.current(server) {
            // What is read before its program ends may be acknowledged by then.
            let past = fs::read(&log.path).ok().and_then(|text| Past::read(&text));
            let is_left = !log.is_written();
            open.extend(past.into_iter().flat_map(|past| past.open).map(|run| (run, is_left)));
        }
        open
    }

    /// The files, and when each was written last.
    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        // Without any log there is no folder.
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?))).collect()
    }
}

/// What the names of a kernel's logs begin with. The id comes from the server.
pub(crate) fn prefix(server: &str, kernel: &str) -> String {
    let digest = Sha256::digest(format!("{server}\n{kernel}"));
    format!("{}-", const_hex::encode(&digest[..8]))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

fn is_old(written_at: SystemTime) -> bool {
    written_at.elapsed().is_ok_and(|age| age > MAX_AGE)
}

fn remove_unclaimed(path: &Path) {
    if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        // Another server may have removed it.
        let _ = fs::remove_file(path);
    }
}

fn read_header(path: &Path) -> Option<Header> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_HEADER_BYTES).read_to_end(&mut text).ok()?;
    Header::read(&text)
}
