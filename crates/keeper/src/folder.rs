//! The folder of a keeper: what it is, how to reach it, and its log. Only its owner may look into it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notebook::RunId;
use rustix::process::Pid;
use state::{create_folder_of, is_locked, is_private, is_private_below_ours, temporary_folder};
use tokio::net::{UnixListener, UnixStream};

use crate::kernel_file::{KERNEL_FILE, KernelFile};
use crate::private::is_own_process;
use crate::state_folder::StateFolder;

/// Linux has room for 108 bytes in the path of a socket, macOS for 104, both with the closing NUL.
const MAX_SOCKET_PATH: usize = 100;
/// How long the log of a keeper that has ended is kept if nobody has read all of it.
const UNREAD_TTL: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often the removal of a folder is tried while others make files in it.
const REMOVALS: usize = 10;

const LOCK: &str = "lock";
const SOCKET: &str = "s";
/// The runs that the first reply of a server reported, an id a line.
const REPORTED: &str = "reported";

/// The folder of one keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperFolder {
    pub path: PathBuf,
}

/// Held by the keeper of a folder as long as it lives, or by the server that reads a dead keeper's log.
#[derive(Debug)]
pub struct FolderLock(File);

impl FolderLock {
    /// Its holder is the keeper, this process.
    pub(crate) fn write_keeper(&mut self) -> io::Result<()> {
        self.0.write_all(std::process::id().to_string().as_bytes())
    }
}

/// The keepers of this user, those that have ended included.
pub fn keepers(state: &StateFolder) -> Vec<(KeeperFolder, KernelFile)> {
    let folders = folders(state).into_iter();
    folders.filter_map(|folder| folder.record().map(|record| (folder, record))).collect()
}

/// Removes what keepers left that ended long ago.
pub fn remove_abandoned(state: &StateFolder) {
    let now = SystemTime::now();
    for folder in folders(state).into_iter().filter(|folder| folder.is_abandoned(now)) {
        folder.remove();
    }
}

/// The folders of keepers of this user, whatever is in them.
pub(crate) fn folders(state: &StateFolder) -> Vec<KeeperFolder> {
    let Some(parent) = state.of_keepers().filter(|parent| is_private_below_ours(parent)) else {
        return Vec::new();
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.map(|entry| KeeperFolder { path: entry.path() });
    folders.filter(|folder| is_private(&folder.path)).collect()
}

/// Opens a socket, and returns where it is: at `path`, or in a private folder in the `temporary` one if the path is too long, or if
/// there are no sockets on its file system, as on some network shares.
pub fn listen(path: PathBuf, temporary: &Path) -> io::Result<(UnixListener, PathBuf)> {
    if path.as_os_str().len() <= MAX_SOCKET_PATH
        && let Ok(listener) = UnixListener::bind(&path)
    {
        return Ok((listener, path));
    }
    // What tempfile adds to the prefix, and the socket.
    let is_short = temporary.as_os_str().len() + "/cellbridge-123456/s".len() <= MAX_SOCKET_PATH;
    let temporary = if is_short { temporary } else { Path::new("/tmp") };
    let path = temporary_folder("cellbridge-", temporary)?.keep().join(SOCKET);
    Ok((UnixListener::bind(&path)?, path))
}

impl KeeperFolder {
    /// The folder with this name, which need not be there. Fails without a state folder.
    pub fn named(state: &StateFolder, name: &str) -> io::Result<Self> {
        let parent = state.of_keepers().ok_or_else(|| io::Error::other("there is no state folder"))?;
        Ok(Self { path: parent.join(name) })
    }

    /// Makes it. Fails if it is there, or others could change the folders above.
    pub fn create(&self) -> io::Result<()> {
        create_folder_of(&self.path)?;
        fs::DirBuilder::new().mode(0o700).create(&self.path)
    }

    /// What it says about its kernel. `None` if it is not whole, or anybody else could have written it.
    pub fn record(&self) -> Option<KernelFile> {
        if !is_private(&self.path) {
            return None;
        }
        serde_json::from_slice(&fs::read(self.path.join(KERNEL_FILE)).ok()?).ok()
    }

    /// Writes what it says about its kernel, all at once.
    pub fn set_record(&self, record: &KernelFile) -> io::Result<()> {
        state::replace_unsynced(&self.path.join(KERNEL_FILE), &serde_json::to_vec_pretty(record)?)
    }

    /// Where the socket is, if it can be there.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }

    /// Takes the lock, which is held until the result is dropped. `None` if its keeper lives, or somebody else reads what it has left.
    pub fn lock(&self) -> io::Result<Option<FolderLock>> {
        let file = state::open_lock(&self.path.join(LOCK))?;
        if !state::try_lock(&file)? {
            return Ok(None);
        }
        // The id of a keeper that has ended.
        file.set_len(0)?;
        Ok(Some(FolderLock(file)))
    }

    /// Whether its keeper lives, or somebody reads what it has left.
    pub fn is_kept(&self) -> bool {
        // Not created: its folder may be being removed.
        File::open(self.path.join(LOCK)).is_ok_and(|file| is_locked(&file))
    }

    /// The process of its keeper, if that lives and is of a version that says so.
    pub(crate) fn keeper_process(&self) -> Option<Pid> {
        let process = fs::read_to_string(self.path.join(LOCK)).ok().filter(|_| self.is_kept())?;
        Pid::from_raw(process.parse().ok()?)
    }

    /// Whether its keeper lives and is not ready.
    pub fn is_starting(&self, record: &KernelFile) -> bool {
        !record.is_ready() && self.keeper_process().is_some()
    }

    /// Connects to its keeper. Fails if nobody listens, or somebody else could.
    pub async fn connect(&self, record: &KernelFile) -> io::Result<UnixStream> {
        // The socket is in the folder, or in another that only we can have made.
        if !record.socket.parent().is_some_and(is_private) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to its folder"));
        }
        let stream = UnixStream::connect(&record.socket).await?;
        if !is_own_process(&stream) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
        }
        Ok(stream)
    }

    /// The runs whose outcome the first reply of a server reported.
    pub fn reported(&self) -> HashSet<RunId> {
        let reported = fs::read_to_string(self.path.join(REPORTED)).unwrap_or_default();
        reported.lines().map(RunId::from).collect()
    }

    /// The first reply of this server reports these. Another one does not report them again.
    pub fn add_reported<'r>(&self, runs: impl IntoIterator<Item = &'r str>) -> io::Result<()> {
        let lines: String = runs.into_iter().flat_map(|run| [run, "\n"]).collect();
        state::open_to_append(&self.path.join(REPORTED))?.write_all(lines.as_bytes())
    }

    /// Removes it with everything in it.
    pub fn remove(&self) {
        if let Some(socket) = self.record().map(|record| record.socket)
            && let Some(folder) = socket.parent().filter(|folder| **folder != self.path && is_private(folder))
        {
            let _ = fs::remove_dir_all(folder);
        }
        // A server that wants to read it may create the lock again during the removal.
        let mut removed = fs::remove_dir_all(&self.path);
        for _ in 1..REMOVALS {
            match &removed {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    removed = fs::remove_dir_all(&self.path);
                }
                _ => break,
            }
        }
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, folder = %self.path.display(), "the folder of a kernel cannot be removed");
        }
    }

    /// Whether its keeper has ended so long ago that nobody will read what it has left.
    pub(crate) fn is_abandoned(&self, now: SystemTime) -> bool {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let metadata = entries.filter_map(|entry| entry.metadata().ok()).chain(fs::metadata(&self.path));
        let newest = metadata.filter_map(|metadata| metadata.modified().ok()).max();
        newest.is_some_and(|at| now.duration_since(at).is_ok_and(|age| age > UNREAD_TTL)) && !self.is_kept()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::kernel_file::tests::record;

    fn made(path: &Path) -> (StateFolder, KeeperFolder) {
        let state = StateFolder::at(path);
        let folder = KeeperFolder::named(&state, "one").unwrap();
        folder.create().unwrap();
        folder.set_record(&record(folder.path.join(SOCKET))).unwrap();
        (state, folder)
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn folders_and_files_are_private() {
        let temporary = tempfile::tempdir().unwrap();
        let (state, folder) = made(temporary.path());
        assert_eq!((mode(&folder.path), mode(folder.path.parent().unwrap())), (0o700, 0o700));
        assert_eq!(mode(&folder.path.join(KERNEL_FILE)), 0o600);
        let found = keepers(&state);
        assert_eq!((found.len(), &*found[0].1.id), (1, "id"));
    }

    #[test]
    fn what_others_could_have_made_is_not_used() {
        let temporary = tempfile::tempdir().unwrap();
        let (state, folder) = made(temporary.path());
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(keepers(&state).is_empty(), "others can write to the folder");
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o700)).unwrap();
        let elsewhere = temporary.path().join("elsewhere");
        fs::rename(&folder.path, &elsewhere).unwrap();
        symlink(&elsewhere, &folder.path).unwrap();
        assert!(keepers(&state).is_empty(), "the folder is a link");

        let temporary = tempfile::tempdir().unwrap();
        let state = StateFolder::at(temporary.path());
        fs::create_dir_all(temporary.path().join("cellbridge")).unwrap();
        symlink("/tmp", temporary.path().join("cellbridge/kernels")).unwrap();
        let error = KeeperFolder::named(&state, "one").unwrap().create().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_state_folder_that_others_can_change_is_not_used() {
        let temporary = tempfile::tempdir().unwrap();
        let (state, _) = made(temporary.path());
        assert_eq!(keepers(&state).len(), 1);
        let open = temporary.path().join("open");
        fs::rename(temporary.path().join("cellbridge"), &open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&open, temporary.path().join("cellbridge")).unwrap();
        assert!(keepers(&state).is_empty());
        let error = KeeperFolder::named(&state, "two").unwrap().create().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[tokio::test]
    async fn a_planted_socket_is_not_used() {
        let temporary = tempfile::tempdir().unwrap();
        let (_, folder) = made(temporary.path());
        let open = temporary.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let _listener = UnixListener::bind(open.join(SOCKET)).unwrap();
        let error = folder.connect(&record(open.join(SOCKET))).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_folder_is_kept_as_long_as_its_lock_is_held() {
        let temporary = tempfile::tempdir().unwrap();
        let (_, folder) = made(temporary.path());
        let lock = folder.lock().unwrap().unwrap();
        assert!(folder.is_kept() && folder.lock().unwrap().is_none());
        let later = SystemTime::now() + 2 * UNREAD_TTL;
        assert!(!folder.is_abandoned(later));
        drop(lock);
        assert!(!folder.is_kept() && folder.is_abandoned(later));
        assert!(!folder.is_abandoned(SystemTime::now()));
        folder.remove();
        assert!(!folder.path.exists());
    }

    #[test]
    fn a_folder_that_others_look_at_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let (_, folder) = made(temporary.path());
        let is_over = AtomicBool::new(false);
        let is_left = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    folder.is_kept();
                }
            });
            let is_left = (0..500).any(|_| {
                folder.remove();
                let is_left = folder.path.exists();
                let _ = folder.create();
                let _ = folder.set_record(&record(folder.path.join(SOCKET)));
                is_left
            });
            is_over.store(true, Ordering::Relaxed);
            is_left
        });
        assert!(!is_left);
    }

    #[test]
    fn an_empty_folder_is_no_keeper_and_is_abandoned_in_time() {
        let temporary = tempfile::tempdir().unwrap();
        let (state, _) = made(temporary.path());
        let empty = KeeperFolder::named(&state, "two").unwrap();
        empty.create().unwrap();
        assert_eq!((keepers(&state).len(), folders(&state).len()), (1, 2));
        assert!(!empty.is_abandoned(SystemTime::now()));
        assert!(empty.is_abandoned(SystemTime::now() + 2 * UNREAD_TTL));
    }

    #[test]
    fn a_kernel_is_ready_when_its_socket_is_there() {
        let temporary = tempfile::tempdir().unwrap();
        let (_, folder) = made(temporary.path());
        assert!(!folder.record().unwrap().is_ready());
        let _listener = std::os::unix::net::UnixListener::bind(folder.socket()).unwrap();
        assert!(folder.record().unwrap().is_ready());
    }

    #[tokio::test]
    async fn the_socket_of_a_long_path_is_in_the_temporary_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let long = temporary.path().join("x".repeat(MAX_SOCKET_PATH));
        let (_, folder) = made(&long);
        let (_listener, path) = listen(folder.socket(), Path::new("/tmp")).unwrap();
        assert!(!path.starts_with(&long) && path.as_os_str().len() <= MAX_SOCKET_PATH);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        folder.set_record(&record(path.clone())).unwrap();
        folder.connect(&record(path.clone())).await.unwrap();
        folder.remove();
        assert!(!path.parent().unwrap().exists());
    }
}
