//! What a Python interpreter reports about itself, remembered while the files that decide it stay the same.
//!
//! Starting Python takes about 100 ms, which every opening of a notebook without a kernel of its own would pay.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use files::{Stamp, lies_in};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::ProcessEnv;
use crate::python::{InterpreterInfo, Version};
use crate::python_files;
use crate::subprocess::command;
use crate::venv::Environment;

/// How long a Python may take to reply. The first start from a cold disk takes seconds.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause after which a program that is being written is started again.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// The coarsest resolution of modification times among file systems in use (FAT).
const TIME_RESOLUTION: Duration = Duration::from_secs(2);

/// How long the reply of a wrapper is remembered. A wrapper such as those of pyenv starts one of several Pythons, and
/// which one can change without any of the watched files changing.
const WRAPPER_TTL: Duration = Duration::from_secs(10);

/// Prints the version, whether ipykernel is installed, the interpreter's path, and the files on which this depends: installing a
/// package changes the modification time of a folder with packages, and a `.pth` file can add folders. `ipykernel` is named itself,
/// for an installation that is repaired or damaged in place.
///
/// Runs without `site` ([`OPTIONS`]), which would run `sitecustomize` and lines of `.pth` files, and these can lead into the served
/// folder: that of a project that is installed there in editable form. Folders are found as `site` finds them instead.
const SCRIPT: &str = include_str!("interpreter/query.py");

/// Neither the working directory nor variables decide what Python imports, and nothing is run at its start.
pub(super) const OPTIONS: &str = "-ISc";

/// A reply to [`SCRIPT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) info: InterpreterInfo,
    depends_on: Vec<PathBuf>,
}

/// The interpreters that were queried, with their replies. Of those that lie in the served
/// folder, and of virtual environments, the files are read instead.
pub(super) struct Interpreters {
    root: PathBuf,
    process_env: Arc<ProcessEnv>,
    query_timeout: Duration,
    remembered: Mutex<HashMap<PathBuf, Remembered>>,
}

impl Interpreters {
    pub(super) fn new(root: PathBuf, process_env: Arc<ProcessEnv>) -> Self {
        Self { root, process_env, query_timeout: QUERY_TIMEOUT, remembered: Mutex::default() }
    }

    pub(super) fn with_query_timeout(self, query_timeout: Duration) -> Self {
        Self { query_timeout, ..self }
    }

    /// What the interpreter at `path` reports; `None` if it does not run. Starts it only if a file on which its last
    /// reply depends has changed since.
    pub(super) async fn info(&self, path: &Path) -> Option<InterpreterInfo> {
        // Without `site`, a virtual environment is not recognised as one.
        let is_venv = Environment::of(path).is_some_and(|environment| environment.is_venv());
        if is_venv || lies_in(&self.root, path) {
            return python_files::info(path, &self.process_env);
        }
        if let Some(remembered) = self.remembered.lock().get(path)
            && remembered.is_current(Instant::now())
        {
            return Some(remembered.info.clone());
        }
        let started = SystemTime::now();
        let process_env = self.process_env.outside(&self.root);
        let asked = tokio::time::timeout(self.query_timeout, query(path, &process_env));
        let reply = asked.await.ok()??;
        let remembered = Remembered::new(path, &reply, started);
        let mut all = self.remembered.lock();
        match remembered {
            Some(remembered) => drop(all.insert(path.to_path_buf(), remembered)),
            None => drop(all.remove(path)),
        }
        Some(reply.info)
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
    let output = async {
        loop {
            match command(path, process_env).args([OPTIONS, SCRIPT]).stderr(Stdio::null()).output().await {
                // It is new, and somebody still has it open for writing, such as a process that was just forked.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => sleep(BUSY_PAUSE).await,
                output => break output,
            }
        }
    };
    let output = tokio::time::timeout(QUERY_TIMEOUT, output).await.ok()?.ok()?;
    parse_reply(&output.stdout)
}

fn parse_reply(stdout: &[u8]) -> Option<Reply> {
    let mut lines = stdout.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let (version, has_kernel) = str::from_utf8(lines.next()?).ok()?.trim().split_once(' ')?;
    let mut paths = lines.filter(|line| !line.is_empty()).filter_map(path_from);
    let executable = paths.next()?;
    let version = Version::parse(version)?;
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
    use crate::test_program::program;

    fn info(executable: &str, version: Version, has_kernel: bool) -> InterpreterInfo {
        InterpreterInfo { executable: executable.into(), version, has_kernel }
    }

    #[test]
    fn a_reply_names_the_interpreter_and_what_it_depends_on() {
        let reply = parse_reply("3.12 1\r\n/opt/a b/python\r\n/opt/ä\r\n".as_bytes()).unwrap();
        assert_eq!(reply.info, info("/opt/a b/python", Version(3, 12), true));
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
        assert_eq!(reply.info, info("/usr/bin/python3.9", Version(3, 9), false));
        program(&folder.path().join("python3"), &["exit 3"]);
        assert_eq!(query(&path, &ProcessEnv::default()).await, None);
        assert_eq!(query(&folder.path().join("none"), &ProcessEnv::default()).await, None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_python_that_is_being_written_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = program(&folder.path().join("python3"), &["out 3.9 0", "out /usr/bin/python3.9"]);
        let writing = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let process_env = ProcessEnv::default();
        let (reply, ()) = tokio::join!(query(&path, &process_env), async {
            tokio::task::yield_now().await;
            drop(writing);
        });
        assert!(reply.is_some());
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
        let info = InterpreterInfo { executable: real.clone(), version: Version(3, 12), has_kernel: false };
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
        let info = InterpreterInfo { executable: path.clone(), version: Version(3, 12), has_kernel: false };
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
        assert!(reply.info.version >= Version(3, 0));
        assert!(reply.info.executable.is_file());
        assert!(reply.depends_on.iter().any(|file| file.ends_with("ipykernel")));
    }
}
