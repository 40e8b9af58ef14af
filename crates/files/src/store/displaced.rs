//! The files that ours have replaced, which an editor may still have open: what it writes there would reach nobody.
//!
//! Example: an editor has opened the notebook to write it in place. We rename version 2 over version 1, and the editor writes version 1a
//! into the file that no longer has a name. We find it there, put it back as the newest version, and apply our edits to it again.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use notebook::{CellId, Edit, Notebook};
use parking_lot::{Mutex, MutexGuard};

use super::file::{Version, digest_of};
use super::lock;
use crate::replacement;
use crate::stamp::Stamp;

/// The number of replaced files, the last ones, that are looked at. Each is held open.
const MAX_FILES: usize = 16;

/// When a replaced file is looked at again: soon at first, for most editors write at once.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The time for which an editor may have it open.
const WATCH_TIME: Duration = Duration::from_secs(30);

/// A file that was replaced.
pub(super) struct Displaced {
    file: File,
    /// As it was when it was replaced.
    before: Stamp,
    digest: u64,
    notebook: Notebook,
    /// The edits of the file that replaced it, whose stamp this is.
    edits: Vec<Edit>,
    replaced_by: Stamp,
}

/// A change that an editor has made in a replaced file, and that was put back.
pub(super) struct Late {
    /// The edits that have to be applied to it again.
    pub(super) edits: Vec<Edit>,
}

/// The files of one notebook that were replaced, the newest last.
#[derive(Default)]
pub(super) struct DisplacedFiles {
    files: Mutex<VecDeque<Displaced>>,
    /// Held while the notebook is replaced: a file that none of these has led to is somebody else's.
    replacing: Mutex<()>,
    is_watched: Mutex<bool>,
}

impl Displaced {
    /// `None` if the file still has another name: then that is the one that somebody writes.
    pub(super) fn new(
        file: File,
        (notebook, version): (Notebook, &Version),
        edits: Vec<Edit>,
        replaced_by: Stamp,
    ) -> io::Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt as _;
        if file.metadata()?.nlink() > 0 {
            return Ok(None);
        }
        let (before, digest) = (version.stamp, version.digest);
        Ok(Some(Self { file, before, digest, notebook, edits, replaced_by }))
    }

    /// The file at `path`, which is about to be replaced.
    fn of_path(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let (before, bytes) = (Stamp::of_file(&file)?, read_again(&file)?);
        let (digest, notebook) =
            (digest_of(&bytes), Notebook::parse(bytes.into()).map_err(io::Error::other)?);
        Ok(Self { file, before, digest, notebook, edits: Vec::new(), replaced_by: before })
    }

    /// Its content, if somebody has written it and seems to be done.
    fn written(&mut self) -> io::Result<Option<Vec<u8>>> {
        let now = Stamp::of_file(&self.file)?;
        if now.has_same_content(&self.before) {
            return Ok(None);
        }
        let bytes = read_again(&self.file)?;
        if digest_of(&bytes) == self.digest {
            self.before = now;
            return Ok(None);
        }
        let is_whole = Stamp::of_file(&self.file)? == now && Notebook::parse(bytes.clone().into()).is_ok();
        Ok(is_whole.then_some(bytes))
    }
}

/// All of an open file.
pub(super) fn read_again(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl DisplacedFiles {
    pub(super) fn add(&self, displaced: Displaced) {
        let mut files = self.files.lock();
        files.push_back(displaced);
        if files.len() > MAX_FILES {
            files.pop_front();
        }
    }

    /// Keeps others from looking at them until the result is dropped.
    pub(super) fn replacing(&self) -> MutexGuard<'_, ()> {
        self.replacing.lock()
    }

    /// Whether the caller is to watch them, since nobody does.
    pub(super) fn begin_watching(&self) -> bool {
        !self.files.lock().is_empty() && !std::mem::replace(&mut *self.is_watched.lock(), true)
    }

    /// The pauses before each look, until there is nothing to look at: then somebody else may watch.
    pub(super) fn pauses(&self) -> impl Iterator<Item = Duration> {
        let (mut pause, mut waited, mut newest) = (FIRST_PAUSE, Duration::ZERO, None);
        std::iter::from_fn(move || {
            let mut files = self.files.lock();
            let last = files.back().map(|displaced| displaced.replaced_by);
            if last != newest {
                (pause, waited, newest) = (FIRST_PAUSE, Duration::ZERO, last);
            }
            if waited >= WATCH_TIME {
                files.clear();
            }
            if files.is_empty() {
                *self.is_watched.lock() = false;
                return None;
            }
            let next = pause;
            (pause, waited) = ((pause * 2).min(LONGEST_PAUSE), waited + pause);
            Some(next)
        })
    }

    /// Puts back what somebody has written into a replaced file, if `path` still has what we wrote. Reads and writes the disk.
    pub(super) fn put_back(&self, path: &Path) -> io::Result<Option<Late>> {
        let _replacing = self.replacing();
        let mut files = self.files.lock();
        let mut written = None;
        for (index, displaced) in files.iter_mut().enumerate() {
            if let Some(bytes) = displaced.written()? {
                written = Some((index, bytes));
            }
        }
        let Some((index, bytes)) = written else { return Ok(None) };
        let Some(_lock) = lock::try_lock(path)? else { return Ok(None) };
        let newest = files.back().map(|newest| newest.replaced_by);
        if Stamp::of(path).ok() != newest {
            // Somebody has written the file since, and has seen what was there.
            files.clear();
            return Ok(None);
        }
        let late = Notebook::parse(bytes.clone().into()).map_err(io::Error::other)?;
        let edits = again(&files[index].notebook, late, files.iter().skip(index).flat_map(|it| &it.edits));
        let ours = Displaced::of_path(path)?;
        let written = write_over(path, &bytes, newest)?;
        files.clear();
        let Some(replaced_by) = written else { return Ok(None) };
        // The editor may have opened that one as well.
        files.push_back(Displaced { replaced_by, ..ours });
        Ok(Some(Late { edits }))
    }
}

/// Replaces what has the stamp `ours`. Returns the new stamp; `None` if the file is another one by now.
fn write_over(path: &Path, bytes: &[u8], ours: Option<Stamp>) -> io::Result<Option<Stamp>> {
    let old = replacement::check_writable(path)?;
    let mut file = replacement::temporary(path, replacement::REPLACING)?;
    file.write_all(bytes)?;
    replacement::prepare(file.as_file(), &old)?;
    let is_ours = |displaced: &Path| {
        let displaced = Stamp::of(displaced)?;
        Ok(ours.is_some_and(|ours| displaced.is_same_file(&ours) && displaced.has_same_content(&ours)))
    };
    replacement::replace_if(file, path, is_ours)
}

/// Those of our edits that apply to what a person has written: where both changed a cell, the person's change counts.
fn again<'e>(before: &Notebook, mut late: Notebook, edits: impl Iterator<Item = &'e Edit>) -> Vec<Edit> {
    late.carry_ids(before);
    let changed: HashSet<&CellId> = late
        .cells()
        .iter()
        .filter(|cell| before.cell(cell.id()).is_some_and(|(_, before)| before.revision() != cell.revision()))
        .map(notebook::Cell::id)
        .collect();
    let is_theirs = |edit: &Edit| {
        matches!(edit, Edit::SetSource { .. } | Edit::SetType { .. } | Edit::Delete { .. })
            && edit.cells().iter().any(|id| changed.contains(id))
    };
    let mut newest = late.clone();
    let edits = edits.filter(|edit| !is_theirs(edit) && newest.apply(edit).is_ok());
    edits.cloned().collect()
}
