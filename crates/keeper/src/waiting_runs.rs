//! The runs of this server that no keeper knows of yet: their kernel is being chosen or started. They are announced in a folder like
//! that of a keeper, from which other servers learn of them if this program is killed.

use std::collections::HashSet;
use std::io;
use std::time::SystemTime;

use kernel::log::{Announcement, LogRecord};
use notebook::RunId;
use parking_lot::Mutex;

use crate::folder::{FolderLock, KeeperFolder, folders};
use crate::log::Log;
use crate::state_folder::StateFolder;

/// The runs that wait in this server. Other servers find their folder with [`waiting_folders`].
pub struct WaitingRuns {
    state: StateFolder,
    /// Not there while no run waits.
    announced: Mutex<Option<WaitingFolder>>,
}

struct WaitingFolder {
    folder: KeeperFolder,
    /// Held as long as this server lives.
    _lock: FolderLock,
    log: Log,
    runs: HashSet<RunId>,
}

impl WaitingRuns {
    /// None wait yet: nothing is written.
    pub fn new(state: StateFolder) -> Self {
        Self { state, announced: Mutex::default() }
    }

    /// A run waits. If that cannot be written, a later server does not learn of it.
    pub fn add(&self, announcement: Announcement) {
        if let Err(error) = self.try_add(announcement) {
            tracing::debug!(%error, "if this server is killed now, later servers will not find a run");
        }
    }

    fn try_add(&self, announcement: Announcement) -> io::Result<()> {
        let mut announced = self.announced.lock();
        let announced = match &mut *announced {
            Some(announced) => announced,
            empty => empty.insert(WaitingFolder::create(&self.state)?),
        };
        announced.runs.insert(announcement.run.clone());
        announced.log.append(&LogRecord::Announced(announcement), SystemTime::now()).map(drop)
    }

    /// A keeper knows of a run, or an agent knows what became of it.
    pub fn remove(&self, run: &RunId) {
        let mut all = self.announced.lock();
        let Some(announced) = all.as_mut().filter(|announced| announced.runs.contains(run)) else { return };
        announced.runs.remove(run);
        if announced.runs.is_empty() {
            announced.folder.remove();
            *all = None;
            return;
        }
        if let Err(error) =
            announced.log.append(&LogRecord::Acknowledged { run: run.clone() }, SystemTime::now())
        {
            tracing::debug!(%error, "if this server is killed now, later servers will report a run as not run");
        }
    }
}

impl WaitingFolder {
    fn create(state: &StateFolder) -> io::Result<Self> {
        let folder = KeeperFolder::named(state, &uuid::Uuid::new_v4().simple().to_string())?;
        folder.create()?;
        let lock = folder.lock()?.ok_or(io::ErrorKind::AddrInUse)?;
        let log = Log::create(&folder.path)?;
        Ok(Self { folder, _lock: lock, log, runs: HashSet::new() })
    }
}

/// The folders in which servers have announced runs that wait. Whether one lives, its lock says.
pub fn waiting_folders(state: &StateFolder) -> Vec<KeeperFolder> {
    // Whoever makes a folder locks it before there is a log: only then it may be asked for its lock.
    folders(state).into_iter().filter(|folder| folder.has_log() && folder.record().is_none()).collect()
}

#[cfg(test)]
mod tests {
    use kernel::log::RunStage;
    use serde_json::json;

    use super::*;
    use crate::log::logged_runs;

    fn announcement(run: &str) -> Announcement {
        Announcement { run: run.into(), message: None, data: json!({ "cell": "c" }) }
    }

    #[test]
    fn other_servers_find_the_runs_that_wait_and_nothing_stays_once_none_does() {
        let temporary = tempfile::tempdir().unwrap();
        let state = StateFolder::at(temporary.path());
        let runs = WaitingRuns::new(state.clone());
        assert!(waiting_folders(&state).is_empty());
        runs.add(announcement("r1"));
        runs.add(announcement("r2"));
        runs.remove(&"r1".into());
        let [folder] = &waiting_folders(&state)[..] else { panic!() };
        assert!(folder.is_kept(), "its server lives");
        let found: Vec<_> =
            logged_runs(&folder.path).into_iter().filter(|run| !run.record.is_acknowledged).collect();
        let [run] = &found[..] else { panic!("{found:?}") };
        let cell = run.record.announcement.data["cell"].as_str();
        assert_eq!((run.id().as_str(), cell, &run.stage), ("r2", Some("c"), &RunStage::Queued));
        drop(runs);
        assert!(!folder.is_kept(), "its server has ended");
        assert_eq!(waiting_folders(&state).len(), 1);

        let runs = WaitingRuns::new(state.clone());
        runs.add(announcement("r3"));
        runs.remove(&"r3".into());
        runs.remove(&"r3".into());
        assert_eq!(waiting_folders(&state).len(), 1, "only the one that was left");
    }
}
