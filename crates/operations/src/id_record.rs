//! The ids of cells that their file does not tell apart, for later servers and for others that have the notebook open.
//!
//! It is a file beside the operations of the notebook. Whoever reads or replaces the notebook holds its lock, so that all programs
//! that see a new cell call it the same.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notebook::AssignedIds;
use serde::{Deserialize, Serialize};

use crate::BlobId;
use crate::line_file::wait_for;

/// The version of the file that this program writes. One of a later version is left alone.
const VERSION: u32 = 1;
pub(crate) const FILE: &str = "ids";
const LOCK: &str = "ids.lock";
/// A record that is read is as good as new: only those that nobody needs are removed for their age.
const RENEWED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The records of all notebooks.
#[derive(Debug, Clone)]
pub struct IdRecords {
    root: PathBuf,
    is_read_only: bool,
}

impl IdRecords {
    /// Those below the folder of all operations. Touches no file.
    pub fn new(root: PathBuf) -> Self {
        Self { root, is_read_only: false }
    }

    /// The same; nothing is ever written.
    pub fn read_only(root: PathBuf) -> Self {
        Self { root, is_read_only: true }
    }

    /// The record of the notebook with this identity.
    pub fn of(&self, notebook: &str) -> IdRecord {
        let folder = self.root.join(BlobId::of(notebook.as_bytes()).as_str());
        IdRecord { folder, is_read_only: self.is_read_only }
    }
}

/// The record of one notebook.
#[derive(Debug, Clone)]
pub struct IdRecord {
    folder: PathBuf,
    is_read_only: bool,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    #[serde(flatten)]
    ids: AssignedIds,
}

impl IdRecord {
    /// Waits until nobody else has it. `None` if there is nothing to read, and `creates` is not set.
    pub fn lock(&self, creates: bool) -> io::Result<Option<LockedIds>> {
        let path = self.folder.join(FILE);
        if !path.exists() && (self.is_read_only || !creates) {
            return Ok(None);
        }
        state::create_folder(&self.folder)?;
        let lock = wait_for(&self.folder.join(LOCK))?;
        let ids = read(&path, self.is_read_only)?;
        Ok(Some(LockedIds { path, ids, is_read_only: self.is_read_only, _lock: lock }))
    }
}

/// A record that nobody else reads or writes until this is dropped.
#[derive(Debug)]
pub struct LockedIds {
    path: PathBuf,
    ids: Option<AssignedIds>,
    is_read_only: bool,
    _lock: File,
}

impl LockedIds {
    /// The recorded ids.
    pub fn ids(&self) -> Option<&AssignedIds> {
        self.ids.as_ref()
    }

    /// Replaces what is recorded; with `None` nothing is.
    pub fn write(&mut self, ids: Option<AssignedIds>) -> io::Result<()> {
        if self.is_read_only || ids == self.ids {
            return Ok(());
        }
        let Some(ids) = ids else {
            self.ids = None;
            return fs::remove_file(&self.path);
        };
        let content = Content { version: VERSION, ids };
        state::replace_unsynced(&self.path, &serde_json::to_vec(&content)?)?;
        self.ids = Some(content.ids);
        Ok(())
    }
}

/// The ids in a file. `None` if there is none, or it is damaged.
fn read(path: &Path, is_read_only: bool) -> io::Result<Option<AssignedIds>> {
    let mut file = match OpenOptions::new().read(true).write(!is_read_only).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let now = SystemTime::now();
    let age = file.metadata()?.modified().ok().and_then(|modified| now.duration_since(modified).ok());
    if !is_read_only && age.is_some_and(|age| age > RENEWED_AFTER) {
        file.set_modified(now)?;
    }
    match serde_json::from_slice::<Content>(&text) {
        Ok(content) if content.version > VERSION => {
            Err(io::Error::other("it was written by a newer version of this program"))
        }
        content => Ok(content.ok().map(|content| content.ids)),
    }
}

#[cfg(test)]
mod tests {
    use notebook::Notebook;

    use super::*;

    fn ids(sources: &[&str]) -> AssignedIds {
        let cells: Vec<_> = sources
            .iter()
            .map(|source| format!(r#"{{"cell_type": "raw", "metadata": {{}}, "source": "{source}"}}"#))
            .collect();
        let text = format!(r#"{{"nbformat": 4, "nbformat_minor": 4, "cells": [{}]}}"#, cells.join(","));
        Notebook::parse(text.into()).unwrap().assigned_ids()
    }

    #[test]
    fn what_was_written_is_read_until_it_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let record = IdRecords::new(root.path().to_path_buf()).of("a");
        assert!(record.lock(false).unwrap().is_none(), "nothing is created for a notebook that needs none");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        let mut locked = record.lock(true).unwrap().unwrap();
        assert_eq!(locked.ids(), None);
        locked.write(Some(ids(&["x", "y"]))).unwrap();
        drop(locked);
        let mut locked = record.lock(false).unwrap().unwrap();
        assert_eq!(locked.ids(), Some(&ids(&["x", "y"])));
        locked.write(None).unwrap();
        drop(locked);
        assert!(record.lock(false).unwrap().is_none());
    }

    #[test]
    fn a_damaged_record_is_replaced_and_one_of_a_newer_version_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let record = IdRecords::new(root.path().to_path_buf()).of("a");
        record.lock(true).unwrap().unwrap().write(Some(ids(&["x"]))).unwrap();
        let path = record.folder.join(FILE);
        fs::write(&path, "{\"vers").unwrap();
        let mut locked = record.lock(true).unwrap().unwrap();
        assert_eq!(locked.ids(), None);
        locked.write(Some(ids(&["x"]))).unwrap();
        drop(locked);
        let newer = fs::read_to_string(&path).unwrap().replace("\"version\":1", "\"version\":2");
        fs::write(&path, &newer).unwrap();
        assert!(record.lock(true).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    }

    #[test]
    fn nothing_is_written_if_it_is_only_read() {
        let root = tempfile::tempdir().unwrap();
        let reading = IdRecords::read_only(root.path().to_path_buf()).of("a");
        assert!(reading.lock(true).unwrap().is_none());
        let record = IdRecords::new(root.path().to_path_buf()).of("a");
        record.lock(true).unwrap().unwrap().write(Some(ids(&["x"]))).unwrap();
        reading.lock(true).unwrap().unwrap().write(Some(ids(&["y"]))).unwrap();
        assert_eq!(record.lock(true).unwrap().unwrap().ids(), Some(&ids(&["x"])));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let record = IdRecords::new(root.path().to_path_buf()).of("a");
        record.lock(true).unwrap().unwrap().write(Some(ids(&["x"]))).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&record.folder.join(FILE)), mode(&record.folder)), (0o600, 0o700));
    }
}
