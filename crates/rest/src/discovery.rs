//! Finds the running servers of this machine, as `jupyter server list` does: each server writes a file with its address
//! and token to Jupyter's runtime folder.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use crate::Address;

/// The largest file that is read; a server's file has a few hundred bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Where running servers are looked for, and which of them comes first.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// Jupyter's runtime folder.
    pub runtime: PathBuf,
    /// The server whose root is the closest ancestor of this folder comes first.
    pub working_directory: PathBuf,
}

/// A running server of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningServer {
    /// Contains the token.
    pub address: Address,
    /// The folder that it serves.
    pub root: PathBuf,
    pub pid: u32,
    pub started: SystemTime,
}

/// A server's file that leads to no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedFile {
    pub path: PathBuf,
    pub reason: UnusedReason,
}

/// Why a server's file is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedReason {
    /// The server was killed: its process has ended.
    Ended,
    /// The server listens on a Unix socket.
    OnSocket,
    Unreadable,
}

#[derive(Deserialize)]
struct ServerFile {
    url: String,
    pid: u32,
    #[serde(default)]
    token: String,
    #[serde(default)]
    root_dir: Option<PathBuf>,
    /// The name of `root_dir` before Jupyter Server 1.
    #[serde(default)]
    notebook_dir: Option<PathBuf>,
    #[serde(default)]
    sock: String,
}

/// The running servers: first those whose root contains the working directory, the closest one first; then the others,
/// newest first. Servers on a Unix socket are omitted.
pub fn running(discovery: &Discovery) -> Vec<RunningServer> {
    let mut servers = newest_first(&discovery.runtime);
    let folder = canonical(&discovery.working_directory);
    // A stable sort: of servers with the same root, the newest stays first.
    servers.sort_by_key(|server| distance(&server.root, &folder).unwrap_or(usize::MAX));
    servers
}

/// How many levels `folder`, which is canonical, is below `root`; `None` if it is elsewhere.
fn distance(root: &Path, folder: &Path) -> Option<usize> {
    if root.as_os_str().is_empty() {
        return None;
    }
    Some(folder.strip_prefix(canonical(root)).ok()?.components().count())
}

/// Without symbolic links, if it exists.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn newest_first(runtime: &Path) -> Vec<RunningServer> {
    let mut found: Vec<RunningServer> = files(runtime).filter_map(|path| read(&path)?.ok()).collect();
    found.sort_by(|a, b| b.started.cmp(&a.started).then(b.pid.cmp(&a.pid)));
    // A server writes two files if the older `notebook` package is installed too.
    let mut seen = HashSet::new();
    found.retain(|server| seen.insert(server.address.base.clone()));
    found
}

/// Jupyter's runtime folder (`jupyter --runtime-dir`), derived from environment variables and the home folder.
pub fn runtime_dir(variable: impl Fn(&str) -> Option<OsString>, home: Option<&Path>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(runtime) = path("JUPYTER_RUNTIME_DIR") {
        return Some(runtime);
    }
    let data = path("JUPYTER_DATA_DIR").or_else(|| {
        if cfg!(target_os = "macos") {
            home.map(|home| home.join("Library/Jupyter"))
        } else if cfg!(windows) {
            path("APPDATA").map(|data| data.join("jupyter"))
        } else {
            let share = path("XDG_DATA_HOME").or_else(|| home.map(|home| home.join(".local/share")));
            share.map(|share| share.join("jupyter"))
        }
    });
    data.map(|data| data.join("runtime"))
}

/// The files of servers that cannot be used, sorted by path.
pub fn unused_files(runtime: &Path) -> Vec<UnusedFile> {
    let unused = |path: PathBuf| read(&path)?.err().map(|reason| UnusedFile { path, reason });
    let mut found: Vec<UnusedFile> = files(runtime).filter_map(unused).collect();
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    found
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path())
}

/// Reads a server's file. `None` for any other file.
fn read(path: &Path) -> Option<Result<RunningServer, UnusedReason>> {
    let name = path.file_name()?.to_str()?;
    let is_server = name.starts_with("jpserver-") || name.starts_with("nbserver-");
    if !is_server || path.extension()? != "json" {
        return None;
    }
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    Some(read_server(path, &metadata))
}

fn read_server(path: &Path, metadata: &fs::Metadata) -> Result<RunningServer, UnusedReason> {
    if metadata.len() > MAX_FILE_BYTES {
        return Err(UnusedReason::Unreadable);
    }
    let text = fs::read(path).map_err(|_| UnusedReason::Unreadable)?;
    let file: ServerFile = serde_json::from_slice(&text).map_err(|_| UnusedReason::Unreadable)?;
    if !is_alive(file.pid) {
        return Err(UnusedReason::Ended);
    }
    if !file.sock.is_empty() || file.url.starts_with("http+unix") {
        return Err(UnusedReason::OnSocket);
    }
    let mut address = Address::parse(&file.url).map_err(|_| UnusedReason::Unreadable)?;
    address.token = crate::Secret::new(file.token).or(address.token);
    Ok(RunningServer {
        address,
        root: file.root_dir.or(file.notebook_dir).unwrap_or_default(),
        pid: file.pid,
        started: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    })
}

/// Whether a process of this user has this id. A killed server does not remove its file.
#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(windows)]
fn is_alive(pid: u32) -> bool {
    windows::is_alive(pid)
}

#[cfg(test)]
mod tests;
