//! What was installed where, so that it can be taken back without a trace.
//!
//! Nothing depends on it but exactness: without a record, the entry alone is removed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::edit::Steps;
use crate::file::{self, FileError};

/// All records of a user.
#[derive(Debug, Default)]
pub struct Ledger {
    path: Option<PathBuf>,
    records: Vec<Record>,
    text: Option<String>,
}

/// What was done to one configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) client: String,
    pub(crate) file: PathBuf,
    pub(crate) created_file: bool,
    pub(crate) created_folders: Vec<PathBuf>,
    pub(crate) created_keys: Vec<Vec<String>>,
    pub(crate) exact: Option<Exact>,
}

/// The way back while nobody else changes the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exact {
    /// Of the text as we left it.
    sha256: String,
    undo: Steps,
}

impl Exact {
    pub(crate) fn new(text: &str, undo: Steps) -> Self {
        Self { sha256: sha256(text), undo }
    }

    /// The way back, if the text is as we left it.
    pub(crate) fn undo(&self, text: &str) -> Option<&Steps> {
        (self.sha256 == sha256(text)).then_some(&self.undo)
    }
}

impl Ledger {
    /// Reads the ledger. One that cannot be read is taken to be empty.
    pub fn read(path: PathBuf) -> Self {
        let text = file::read(&path).ok().flatten();
        let records = text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Self { path: Some(path), records, text }
    }

    pub(crate) fn find(&self, client: &str, file: &Path) -> Option<&Record> {
        self.records.iter().find(|it| it.client == client && it.file == file)
    }

    pub(crate) fn set(&mut self, client: &str, file: &Path, record: Option<Record>) -> Result<(), FileError> {
        self.records.retain(|it| it.client != client || it.file != file);
        self.records.extend(record);
        let Some(path) = &self.path else { return Ok(()) };
        let text = serde_json::to_string_pretty(&self.records).unwrap_or_default();
        if self.text.as_ref() == Some(&text) {
            return Ok(());
        }
        file::create_folder_of(path)?;
        file::replace(path, self.text.as_deref(), &text)?;
        self.text = Some(text);
        Ok(())
    }
}

fn sha256(text: &str) -> String {
    const_hex::encode(Sha256::digest(text))
}
