//! Finds the servers that run on this machine, as `jupyter server list` does: each leaves a file in Jupyter's runtime
//! folder, with its address and its token.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use crate::Address;

/// A file of a server is a few hundred bytes.
const LARGEST: u64 = 64 << 10;

/// A server that runs on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Where it is, with its token.
    pub address: Address,
    /// The folder it serves.
    pub root: PathBuf,
    /// Its process.
    pub pid: u32,
    /// Whether it wants a password, having no token.
    pub has_password: bool,
    /// Its version.
    pub version: Option<String>,
    /// When it was started.
    pub started: SystemTime,
}

#[derive(Deserialize)]
struct Left {
    url: String,
    pid: u32,
    #[serde(default)]
    token: String,
    #[serde(default)]
    root_dir: Option<PathBuf>,
    /// Its name until Jupyter Server 1.
    #[serde(default)]
    notebook_dir: Option<PathBuf>,
    #[serde(default)]
    password: bool,
    #[serde(default)]
    sock: String,
    #[serde(default)]
    version: Option<String>,
}

/// The servers that left their file in `runtime` and still run, the newest first. Those on a Unix socket are left out.
pub fn running(runtime: &Path) -> Vec<Running> {
    let Ok(files) = fs::read_dir(runtime) else { return Vec::new() };
    let mut found: Vec<Running> = files.flatten().filter_map(|file| read(&file.path())).collect();
    found.sort_by(|a, b| b.started.cmp(&a.started).then(b.pid.cmp(&a.pid)));
    // A server leaves two files where the older notebook package is installed beside it.
    let mut seen: Vec<String> = Vec::new();
    found.retain(|server| {
        let base = server.address.base.to_string();
        let is_new = !seen.contains(&base);
        seen.push(base);
        is_new
    });
    found
}

/// Jupyter's runtime folder (`jupyter --runtime-dir`), from the environment's variables and the home folder.
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

fn read(file: &Path) -> Option<Running> {
    let name = file.file_name()?.to_str()?;
    let is_server = name.starts_with("jpserver-") || name.starts_with("nbserver-");
    if !is_server || file.extension()? != "json" {
        return None;
    }
    let about = fs::metadata(file).ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let left: Left = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    if !left.sock.is_empty() || left.url.starts_with("http+unix") || !is_alive(left.pid) {
        return None;
    }
    let mut address = Address::parse(&left.url).ok()?;
    address.token = crate::Secret::new(left.token).or(address.token);
    Some(Running {
        has_password: left.password && address.token.is_none(),
        address,
        root: left.root_dir.or(left.notebook_dir).unwrap_or_default(),
        pid: left.pid,
        version: left.version,
        started: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    })
}

/// Whether a process of ours has this id. A server that was killed leaves its file behind.
#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn is_alive(_pid: u32) -> bool {
    true
}

#[cfg(test)]
mod tests;
