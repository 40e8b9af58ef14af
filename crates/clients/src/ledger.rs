//! What was installed where, so that it can be taken back without a trace.
//!
//! Nothing depends on it but exactness: without a record, the entry alone is removed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::change::ChangeError;
use crate::file::{self, FileError};

/// All records of a user.
#[derive(Debug, Default)]
pub struct Ledger {
    path: Option<PathBuf>,
    records: Vec<LedgerEntry>,
    text: Option<String>,
}

/// What was done to one configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerEntry {
    pub(crate) client: String,
    pub(crate) file: PathBuf,
    pub(crate) created_file: bool,
    pub(crate) created_folders: Vec<PathBuf>,
    pub(crate) digests: Option<Digests>,
}

/// Of a file before its first change, and as we left it: while nobody else changes it, its backup is the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    before: String,
    after: String,
}

impl Digests {
    pub(crate) fn new(before: &str, after: &str) -> Self {
        Self { before: sha256(before), after: sha256(after) }
    }
}

impl LedgerEntry {
    /// The text before the first change, if `text` is as we left it. Without a file there is no backup.
    pub(crate) fn original(&self, file: &Path, text: &str) -> Option<String> {
        let digests = self.digests.as_ref().filter(|it| it.after == sha256(text))?;
        let backup = file::read(&file::backup(file)).ok().flatten();
        backup.into_iter().chain([String::new()]).find(|it| digests.before == sha256(it))
    }
}

impl Ledger {
    /// Reads the ledger. One that cannot be read is taken to be empty.
    pub fn read(path: PathBuf) -> Self {
        let text = file::read(&path).ok().flatten();
        let records = text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Self { path: Some(path), records, text }
    }

    pub(crate) fn find(&self, client: &str, file: &Path) -> Option<&LedgerEntry> {
        self.records.iter().find(|it| it.client == client && it.file == file)
    }

    pub(crate) fn set(
        &mut self,
        client: &str,
        file: &Path,
        record: Option<LedgerEntry>,
    ) -> Result<(), ChangeError> {
        self.records.retain(|it| it.client != client || it.file != file);
        self.records.extend(record);
        let Some(path) = &self.path else { return Ok(()) };
        let text = serde_json::to_string_pretty(&self.records).unwrap_or_default();
        let text = (!self.records.is_empty()).then_some(text);
        write(path, self.text.as_deref(), text.as_deref())
            .map_err(|error| ChangeError::File { file: path.clone(), error })?;
        self.text = text;
        Ok(())
    }
}

fn write(path: &Path, before: Option<&str>, text: Option<&str>) -> Result<(), FileError> {
    match (before, text) {
        (before, text) if before == text => Ok(()),
        (before, Some(text)) => {
            file::create_folder_of(path)?;
            file::replace(path, before, text)
        }
        (Some(before), None) => {
            file::delete(path, before)?;
            // The folder stays if it holds something else.
            let _ = path.parent().map(std::fs::remove_dir);
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

fn sha256(text: &str) -> String {
    const_hex::encode(Sha256::digest(text))
}
