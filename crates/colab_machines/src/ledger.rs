//! The machines that this program has started on this computer: a file for each, written before the machine is requested, so that the
//! next server knows it even if this process is killed.
//!
//! Beside it is a file that each process which uses the machine holds a shared lock on. The system releases it when the process ends.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use place::{MachineKind, MachineOrigin};
use serde::{Deserialize, Serialize};

use crate::api::MachineId;

/// How long the creation of a machine may take until it is certain that there is none.
const UNSETTLED: Duration = Duration::from_secs(10 * 60);

/// A machine that this program has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: MachineId,
    #[serde(flatten)]
    pub(crate) kind: MachineKind,
    /// Whose it is, if that is known.
    pub(crate) account: Option<String>,
    /// Whether it is to run on when its last server ends.
    pub(crate) keeps: bool,
    /// When it was requested.
    pub(crate) at: SystemTime,
}

/// A machine that this process uses.
#[derive(Debug)]
struct Held {
    lock: File,
    /// Whether this process has started it, or took it over from one that has ended.
    is_own: bool,
    /// Whether it is known that the machine was created.
    is_settled: bool,
    /// Whether a start goes on, which ends the machine if this program ends.
    is_starting: bool,
}

impl Held {
    /// Whether another process uses the machine, too. Known on Unix only, where a process may exchange its lock.
    fn is_shared(&self) -> bool {
        if !cfg!(unix) {
            return false;
        }
        let is_shared = is_used(&self.lock);
        if let Err(error) = self.lock.try_lock_shared() {
            tracing::warn!(%error, "the use of a Colab machine is not recorded any longer");
        }
        is_shared
    }
}

/// Whether another process holds the lock.
fn is_used(lock: &File) -> bool {
    state::try_lock(lock).is_ok_and(|is_free| !is_free)
}

/// The machines that this program has started and that are not known to have ended, as people read them. Google is not asked.
/// `own_state` is the state folder of this program.
pub fn recorded(own_state: &Path) -> Vec<String> {
    let entries = Ledger::new(own_state).entries();
    entries.into_iter().map(|entry| format!("{} ({})", entry.id, entry.kind)).collect()
}

/// The folder of the machines.
#[derive(Debug)]
pub(crate) struct Ledger {
    folder: PathBuf,
    held: Mutex<HashMap<MachineId, Held>>,
}

impl Ledger {
    /// In the state folder of this program.
    pub(crate) fn new(own_state: &Path) -> Self {
        Self { folder: own_state.join("colab").join("machines"), held: Mutex::default() }
    }

    /// Records a machine that is about to be requested, and uses it.
    pub(crate) fn record(&self, entry: &Entry) -> io::Result<()> {
        state::create_folder(&self.folder)?;
        // First the lock: without it, the machine would be one of a process that has ended.
        let lock = self.open_lock(&entry.id)?;
        lock.try_lock_shared()?;
        self.write(entry)?;
        let held = Held { lock, is_own: true, is_settled: false, is_starting: true };
        self.held.lock().insert(entry.id.clone(), held);
        Ok(())
    }

    /// Records that the machine was created.
    pub(crate) fn settle(&self, id: &MachineId) {
        if let Some(held) = self.held.lock().get_mut(id) {
            held.is_settled = true;
        }
    }

    /// Whether this process uses the machine, and knows that it was created.
    pub(crate) fn is_settled(&self, id: &MachineId) -> bool {
        self.held.lock().get(id).is_some_and(|held| held.is_settled)
    }

    /// Records that the machine is to run on.
    pub(crate) fn keep(&self, entry: &Entry) -> io::Result<()> {
        self.write(&Entry { keeps: true, ..entry.clone() })
    }

    /// Records that this process uses a machine, if this program has started it. Fails while another process looks at the lock, or ends the machine.
    pub(crate) fn hold(&self, id: &MachineId) -> io::Result<()> {
        let mut held = self.held.lock();
        if held.contains_key(id) || !self.file(id).exists() {
            return Ok(());
        }
        let lock = self.open_lock(id)?;
        let is_own = state::try_lock(&lock)?;
        if is_own {
            lock.unlock()?;
        }
        lock.try_lock_shared()?;
        held.insert(id.clone(), Held { lock, is_own, is_settled: true, is_starting: false });
        Ok(())
    }

    /// All machines.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ids =
            files.filter_map(|file| MachineId::parse(file.file_name().to_str()?.strip_suffix(".json")?));
        let mut entries: Vec<_> = ids.filter_map(|id| self.entry(&id)).collect();
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        entries
    }

    pub(crate) fn entry(&self, id: &MachineId) -> Option<Entry> {
        let text = fs::read(self.file(id)).ok()?;
        let entry = serde_json::from_slice::<Entry>(&text)
            .inspect_err(|_| tracing::warn!(%id, "the record of a Colab machine is damaged"));
        entry.ok().filter(|entry| entry.id == *id)
    }

    /// The start of a machine has ended, well or not.
    pub(crate) fn end_start(&self, id: &MachineId) {
        if let Some(held) = self.held.lock().get_mut(id) {
            held.is_starting = false;
        }
    }

    /// Those that this process uses, or may have created, but for those whose start goes on.
    pub(crate) fn held(&self) -> Vec<Entry> {
        let held = self.held.lock();
        let ids: Vec<_> =
            held.iter().filter(|(_, held)| !held.is_starting).map(|(id, _)| id.clone()).collect();
        drop(held);
        ids.iter().filter_map(|id| self.entry(id)).collect()
    }

    /// Who has started a machine.
    pub(crate) fn origin(&self, id: &MachineId) -> MachineOrigin {
        let Some(Entry { keeps, at, .. }) = self.entry(id) else { return MachineOrigin::Elsewhere };
        match self.held.lock().get(id) {
            Some(held @ Held { is_own: true, .. }) => {
                MachineOrigin::Here { keeps, is_shared: held.is_shared() }
            }
            Some(_) => MachineOrigin::OtherProcess { at, is_running: true, keeps },
            None => {
                let lock = self.open_lock(id);
                let is_running = lock.is_ok_and(|lock| is_used(&lock));
                MachineOrigin::OtherProcess { at, is_running, keeps }
            }
        }
    }

    /// Ends the use of a machine. Returns a lock against new users if there is no other; `None` if there is.
    pub(crate) fn release(&self, id: &MachineId) -> Option<File> {
        self.held.lock().remove(id);
        let lock = self.open_lock(id).ok()?;
        lock.try_lock().ok()?;
        Some(lock)
    }

    /// Whether a machine that Google does not list is certain not to exist.
    pub(crate) fn is_over(&self, entry: &Entry, now: SystemTime) -> bool {
        self.is_settled(&entry.id) || now.duration_since(entry.at).is_ok_and(|age| age > UNSETTLED)
    }

    /// Forgets a machine that does not exist any longer.
    pub(crate) fn remove(&self, id: &MachineId) {
        self.held.lock().remove(id);
        for file in [self.file(id), self.lock_file(id)] {
            if let Err(error) = fs::remove_file(file)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%id, %error, "the record of a Colab machine cannot be removed");
            }
        }
    }

    fn write(&self, entry: &Entry) -> io::Result<()> {
        state::replace(&self.file(&entry.id), &serde_json::to_vec(entry)?)
    }

    fn file(&self, id: &MachineId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn lock_file(&self, id: &MachineId) -> PathBuf {
        self.folder.join(format!("{id}.lock"))
    }

    fn open_lock(&self, id: &MachineId) -> io::Result<File> {
        state::open_lock(&self.lock_file(id))
    }
}

#[cfg(test)]
mod tests;
