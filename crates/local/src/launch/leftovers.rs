//! Finds what kernels of this program left behind that ended together with it and its watchdog, as in a power cut.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jupyter_protocol::connection_info::ConnectionInfo;

use super::connection_file::{SOCKET, SOCKET_FOLDER, has_own_sockets};
use environments::ProcessEnv;

/// A kernel writes its files before it listens, and may take a minute for that.
const MIN_AGE: Duration = Duration::from_secs(300);
/// The sockets of a kernel on another machine, or in another container, cannot be seen from here, while its connection file
/// may be in a home folder that both share.
const MIN_AGE_WITHOUT_SOCKETS: Duration = Duration::from_secs(30 * 24 * 3600);

/// The files of one kernel that no longer runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The connection file; `None` if only the sockets are left.
    pub file: Option<PathBuf>,
    /// The folder of its sockets, if that is left.
    pub sockets: Option<PathBuf>,
}

/// Only kernels with our sockets count: another program may have written any other connection file.
pub fn leftovers(process_env: &ProcessEnv, now: SystemTime) -> Vec<Leftover> {
    let runtime = process_env.jupyter_runtime_dir();
    let files = runtime.iter().flat_map(|folder| entries(folder));
    let mut found: Vec<Leftover> = files.filter_map(|file| of_file(file, now)).collect();
    let named: Vec<PathBuf> = found.iter().filter_map(|leftover| leftover.sockets.clone()).collect();
    let folders = entries(&process_env.temp_dir());
    let unnamed = folders.filter(|folder| !named.contains(folder) && is_abandoned(folder, now));
    found.extend(unnamed.map(|folder| Leftover { file: None, sockets: Some(folder) }));
    found
}

impl Leftover {
    /// Removes the files, unless a kernel listens by now.
    pub fn remove(&self, now: SystemTime) -> std::io::Result<()> {
        // Looked at before the sockets are removed, which show that its kernel has ended.
        let file = self.file.as_ref().filter(|file| of_file((*file).clone(), now).is_some());
        if let Some(folder) = self.sockets.as_ref().filter(|folder| is_abandoned(folder, now)) {
            fs::remove_dir_all(folder)?;
        }
        file.map_or(Ok(()), fs::remove_file)
    }
}

fn of_file(file: PathBuf, now: SystemTime) -> Option<Leftover> {
    let name = file.file_name()?.to_str()?;
    if !name.starts_with("kernel-") || file.extension()? != "json" || !is_older(&file, MIN_AGE, now) {
        return None;
    }
    let info: ConnectionInfo = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    if !has_own_sockets(&info) {
        return None;
    }
    let folder = Path::new(&info.ip).parent()?;
    if !folder.exists() {
        let is_old = is_older(&file, MIN_AGE_WITHOUT_SOCKETS, now);
        return is_old.then_some(Leftover { file: Some(file), sockets: None });
    }
    is_abandoned(folder, now).then(|| Leftover { file: Some(file), sockets: Some(folder.to_path_buf()) })
}

/// Whether this is a folder of this user that contains only unused sockets of Cellbridge.
fn is_abandoned(folder: &Path, now: SystemTime) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.starts_with(SOCKET_FOLDER) || !is_own_folder(folder) || !is_older(folder, MIN_AGE, now) {
        return false;
    }
    let mut sockets = entries(folder).peekable();
    // An empty folder may belong to anything.
    sockets.peek().is_some() && sockets.all(|socket| is_dead_socket(&socket))
}

fn is_dead_socket(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix(SOCKET).and_then(|rest| rest.strip_prefix('-'));
    let is_named = number.is_some_and(|number| number.parse::<u8>().is_ok());
    is_named
        && matches!(UnixStream::connect(path), Err(error) if error.kind() == ErrorKind::ConnectionRefused)
}

fn is_own_folder(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir() && state::is_own(&it))
}

fn is_older(path: &Path, min_age: Duration, now: SystemTime) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > min_age))
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["run", "tmp"] {
                fs::create_dir(folder.path().join(name)).unwrap();
            }
            Self { folder }
        }

        /// The folder of a kernel's sockets, with a listener on one of them.
        fn sockets(&self, name: &str) -> (PathBuf, UnixListener) {
            let folder = self.folder.path().join("tmp").join(name);
            fs::create_dir(&folder).unwrap();
            let listener = UnixListener::bind(folder.join("k-1")).unwrap();
            (folder, listener)
        }

        fn connection_file(&self, id: &str, transport: &str, ip: &str) -> PathBuf {
            let path = self.folder.path().join("run").join(format!("kernel-{id}.json"));
            let text = format!(
                r#"{{"transport": "{transport}", "ip": "{ip}", "shell_port": 1, "iopub_port": 2, "stdin_port": 3,
                    "control_port": 4, "hb_port": 5, "key": "k", "signature_scheme": "hmac-sha256"}}"#
            );
            fs::write(&path, text).unwrap();
            path
        }

        fn find(&self, age: Duration) -> Vec<Leftover> {
            let at = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
            let process_env =
                ProcessEnv::with_variables(&[("JUPYTER_RUNTIME_DIR", &at("run")), ("TMPDIR", &at("tmp"))]);
            leftovers(&process_env, SystemTime::now() + age)
        }
    }

    #[test]
    fn files_of_a_kernel_that_no_longer_listens_are_found_and_removed() {
        let machine = Machine::new();
        let (folder, listener) = machine.sockets("cellbridge-abc");
        let file = machine.connection_file("a", "ipc", &format!("{}/k", folder.display()));
        assert_eq!(machine.find(2 * MIN_AGE), [], "its kernel runs");
        drop(listener);
        assert_eq!(machine.find(Duration::ZERO), [], "its kernel may be starting");
        let found = machine.find(2 * MIN_AGE);
        assert_eq!(found, [Leftover { file: Some(file.clone()), sockets: Some(folder.clone()) }]);
        found[0].remove(SystemTime::now() + 2 * MIN_AGE).unwrap();
        assert!(!folder.exists() && !file.exists());
    }

    #[test]
    fn sockets_without_a_file_are_found() {
        let machine = Machine::new();
        let (folder, _) = machine.sockets("cellbridge-abc");
        assert_eq!(machine.find(2 * MIN_AGE), [Leftover { file: None, sockets: Some(folder) }]);
    }

    #[test]
    fn a_file_whose_sockets_cannot_be_seen_here_is_kept_for_a_month() {
        let machine = Machine::new();
        let file = machine.connection_file("a", "ipc", "/nowhere/cellbridge-x/k");
        assert_eq!(machine.find(2 * MIN_AGE), []);
        let found = machine.find(2 * MIN_AGE_WITHOUT_SOCKETS);
        assert_eq!(found, [Leftover { file: Some(file), sockets: None }]);
    }

    #[test]
    fn what_others_wrote_is_not_ours() {
        let machine = Machine::new();
        machine.connection_file("a", "tcp", "127.0.0.1");
        machine.connection_file("b", "ipc", "/nowhere/other-x/k");
        machine.sockets("other-abc");
        let (folder, _) = machine.sockets("cellbridge-mixed");
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        fs::create_dir(machine.folder.path().join("tmp/cellbridge-empty")).unwrap();
        assert_eq!(machine.find(2 * MIN_AGE), []);
    }
}
