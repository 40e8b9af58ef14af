//! What a Python interpreter reports about itself, remembered while the files that decide it stay the same.
//!
//! Starting Python takes about 100 ms, which every opening of a notebook without a kernel of its own would pay.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::ProcessEnv;
use crate::stamp::Stamp;

/// How long a Python may take to reply. The first start from a cold disk takes seconds.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);

/// The coarsest resolution of modification times among file systems in use (FAT).
const TIME_RESOLUTION: Duration = Duration::from_secs(2);

/// How long the reply of a wrapper is remembered. A wrapper such as those of pyenv starts one of several Pythons, and
/// which one can change without any of the watched files changing.
const WRAPPER_TTL: Duration = Duration::from_secs(10);

/// Prints the version, whether ipykernel can be imported, the interpreter's path, and the files on which this
/// depends: installing a package changes the modification time of a folder on `sys.path`, and a `.pth` file can add
/// folders. `ipykernel` is named itself, for an installation that is repaired or damaged in place.
const SCRIPT: &str = "
import os, site, sys
from importlib.util import find_spec
# With `-c`, the working directory comes first; a kernel does not import from there.
sys.path[:] = folders = [folder for folder in sys.path if folder]
lines = ['%d.%d %d' % (*sys.version_info[:2], find_spec('ipykernel') is not None), sys.executable]
lines += [os.path.join(sys.prefix, 'pyvenv.cfg'), site.getusersitepackages()]
for folder in folders:
    lines += [folder, os.path.join(folder, 'ipykernel')]
    if os.path.isdir(folder):
        lines += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith('.pth')]
sys.stdout.buffer.write(os.fsencode('\\n'.join(lines)))
";

/// What a Python interpreter reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterpreterInfo {
    /// `sys.executable`: the interpreter behind a wrapper such as those of pyenv.
    pub(crate) executable: PathBuf,
    pub(crate) version: (u32, u32),
    pub(crate) has_kernel: bool,
}

/// A reply to [`SCRIPT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) info: InterpreterInfo,
    depends_on: Vec<PathBuf>,
}

/// The interpreters that were queried, with their replies.
pub(super) struct Interpreters {
    process_env: Arc<ProcessEnv>,
    query_timeout: Duration,
    remembered: Mutex<HashMap<PathBuf, Remembered>>,
}

impl Interpreters {
    pub(super) fn new(process_env: Arc<ProcessEnv>) -> Self {
        Self { process_env, query_timeout: QUERY_TIMEOUT, remembered: Mutex::default() }
    }

    pub(super) fn with_query_timeout(self, query_timeout: Duration) -> Self {
        Self { query_timeout, ..self }
    }

    /// What the interpreter at `path` reports; `None` if it does not run. Starts it only if a file on which its last
    /// reply depends has changed since.
    pub(super) async fn info(&self, path: &Path) -> Option<InterpreterInfo> {
        if let Some(info) = self.recall(path) {
            return Some(info);
        }
        let started = SystemTime::now();
        let asked = tokio::time::timeout(self.query_timeout, query(path, &self.process_env));
        let reply = asked.await.ok()??;
        let remembered = Remembered::new(path, &reply, started);
        let mut all = self.remembered.lock();
        match remembered {
            Some(remembered) => drop(all.insert(path.to_path_buf(), remembered)),
            None => drop(all.remove(path)),
        }
        Some(reply.info)
    }

    fn recall(&self, path: &Path) -> Option<InterpreterInfo> {
        let all = self.remembered.lock();
        let remembered = all.get(path).filter(|remembered| remembered.is_current(Instant::now()));
        remembered.map(|remembered| remembered.info.clone())
    }
}

struct Remembered {
    info: InterpreterInfo,
    /// The state of each file on which the reply depends; `None` if there was no such file.
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    expires: Option<Instant>,
}

impl Remembered {
    /// `None` if one of the files changed so shortly before the query started that a change during the query might
    /// not show in its modification time.
    fn new(path: &Path, reply: &Reply, started: SystemTime) -> Option<Self> {
        let files = reply.depends_on.iter().map(PathBuf::as_path).chain([path]);
        let stamps: Vec<_> = files.map(|file| (file.to_path_buf(), Stamp::of(file).ok())).collect();
        let mut existing = stamps.iter().filter_map(|(_, stamp)| stamp.as_ref());
        if !existing.all(|stamp| stamp.is_settled(started, TIME_RESOLUTION)) {
            return None;
        }
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_wrapper = real(&reply.info.executable).is_none_or(|executable| real(path) != Some(executable));
        let expires = is_wrapper.then(|| Instant::now() + WRAPPER_TTL);
        Some(Self { info: reply.info.clone(), stamps, expires })
    }

    fn is_current(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
            && self.stamps.iter().all(|(file, stamp)| Stamp::of(file).ok() == *stamp)
    }
}

/// Starts the Python at `path` and reads its reply. `None` if it does not run, or takes too long.
pub(super) async fn query(path: &Path, process_env: &ProcessEnv) -> Option<Reply> {
    let output = super::command(path, process_env)
        // Not `-I`: packages in the user's own folder count, as they do for the kernel.
        .args(["-c", SCRIPT])
        .stderr(Stdio::null())
        .output();
    let output = tokio::time::timeout(QUERY_TIMEOUT, output).await.ok()?.ok()?;
    parse_reply(&output.stdout)
}

fn parse_reply(stdout: &[u8]) -> Option<Reply> {
    let mut lines = stdout.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let (version, has_kernel) = str::from_utf8(lines.next()?).ok()?.trim().split_once(' ')?;
    let (major, minor) = version.split_once('.')?;
    let mut paths = lines.filter(|line| !line.is_empty()).filter_map(path_from);
    let executable = paths.next()?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let info = InterpreterInfo { executable, version, has_kernel: has_kernel == "1" };
    Some(Reply { info, depends_on: paths.collect() })
}

fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    let path = Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes));
    #[cfg(not(unix))]
    let path = str::from_utf8(bytes).ok().map(OsStr::new);
    path.map(|path: &OsStr| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tests::program;

    fn info(executable: &str, version: (u32, u32), has_kernel: bool) -> InterpreterInfo {
        InterpreterInfo { executable: executable.into(), version, has_kernel }
    }

    #[test]
    fn a_reply_names_the_interpreter_and_what_it_depends_on() {
        let reply = parse_reply("3.12 1\r\n/opt/a b/python\r\n/opt/ä\r\n".as_bytes()).unwrap();
        assert_eq!(reply.info, info("/opt/a b/python", (3, 12), true));
        assert_eq!(reply.depends_on, [PathBuf::from("/opt/ä")]);
        #[cfg(unix)]
        assert!(parse_reply(b"3.12 1\n/opt/\xff\n").is_some());
        for malformed in [&b""[..], b"3.12 1\n", b"hello\nthere", b"3.x 1\n/p", b"\xff\n"] {
            assert_eq!(parse_reply(malformed), None);
        }
    }

    #[tokio::test]
    async fn a_python_that_does_not_run_has_no_reply() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        let path = program(&path, &["out 3.9 0", "out /usr/bin/python3.9"]);
        let reply = query(&path, &ProcessEnv::default()).await.unwrap();
        assert_eq!(reply.info, info("/usr/bin/python3.9", (3, 9), false));
        program(&folder.path().join("python3"), &["exit 3"]);
        assert_eq!(query(&path, &ProcessEnv::default()).await, None);
        assert_eq!(query(&folder.path().join("none"), &ProcessEnv::default()).await, None);
    }

    #[test]
    fn the_reply_of_a_wrapper_expires() {
        let folder = tempfile::tempdir().unwrap();
        let (wrapper, real) = (folder.path().join("wrapper"), folder.path().join("python3"));
        let now = Instant::now();
        for path in [&wrapper, &real] {
            fs::write(path, "").unwrap();
            let earlier = SystemTime::now() - Duration::from_secs(3600);
            fs::File::options().write(true).open(path).unwrap().set_modified(earlier).unwrap();
        }
        let info = InterpreterInfo { executable: real.clone(), version: (3, 12), has_kernel: false };
        let reply = Reply { info, depends_on: Vec::new() };
        let remembered = |path: &Path| Remembered::new(path, &reply, SystemTime::now()).unwrap();
        let later = now + 2 * WRAPPER_TTL;
        assert!(remembered(&real).is_current(later));
        assert!(remembered(&wrapper).is_current(now));
        assert!(!remembered(&wrapper).is_current(later));
    }

    #[test]
    fn a_reply_is_not_remembered_if_its_files_have_just_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        fs::write(&path, "").unwrap();
        let info = InterpreterInfo { executable: path.clone(), version: (3, 12), has_kernel: false };
        let reply = Reply { info, depends_on: vec![folder.path().to_path_buf()] };
        assert!(Remembered::new(&path, &reply, SystemTime::now()).is_none());
        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(Remembered::new(&path, &reply, later).is_some());
    }

    /// The script is only as good as the Pythons that run it.
    #[tokio::test]
    async fn a_real_python_replies() {
        #[expect(clippy::disallowed_methods, reason = "the test runs a Python of this machine")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut process_env = ProcessEnv::default();
        process_env.variables.insert("PATH".into(), path);
        // Nothing to see on a machine without Python.
        let Some(python) = process_env.find_program("python3") else { return };
        let reply = query(&python, &process_env).await.unwrap();
        assert!(reply.info.version >= (3, 0));
        assert!(reply.info.executable.is_file());
        assert!(reply.depends_on.iter().any(|file| file.ends_with("ipykernel")));
    }
}
