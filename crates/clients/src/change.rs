//! A change of one configuration: computed first, shown, and then made.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::configuration::inputs_of;
use crate::edit::{self, EditObstacle, INPUTS, Target};
use crate::entry::{Block, NotPossible, ServerEntry};
use crate::file::{self, FileError};
use crate::ledger::{Digests, Ledger, LedgerEntry};
use crate::secrets::masked;
use crate::{Client, Machine, NAME, Scope};

/// What a configuration is and what it becomes.
#[derive(Debug)]
pub struct FileChange {
    pub client: &'static Client,
    pub file: PathBuf,
    /// `None`: there is no file.
    pub before: Option<String>,
    pub after: Option<String>,
    record: Option<LedgerEntry>,
    is_first: bool,
}

/// Why a configuration is not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    NotPossible(#[from] NotPossible),
    #[error("{}: {error}", file.display())]
    File { file: PathBuf, error: FileError },
    /// With the text that the person can paste, if something had to be added.
    #[error("{}: {refusal}", file.display())]
    Refused { file: PathBuf, refusal: EditObstacle, block: Option<String> },
}

/// The change that makes a client know our server.
pub fn install(
    client: &'static Client,
    machine: &Machine,
    scope: Scope,
    entry: &ServerEntry,
    ledger: &Ledger,
) -> Result<FileChange, ChangeError> {
    let file = client.located(machine, scope)?;
    let block = client.block(entry, scope)?;
    let before = read(&file)?;
    let refused = |refusal| {
        let block = Some(edit::alone(client.target(), &block));
        ChangeError::Refused { file: file.clone(), refusal, block }
    };
    let text = before.clone().unwrap_or_default();
    // If the person has removed the entry, this is an installation like the first.
    let has_entry = edit::read(&text, client.target()).map_err(&refused)?.is_some();
    let known = ledger.find(client.id, &file).filter(|_| has_entry);
    let is_first = known.is_none();
    let (after, record) = put(client, &file, &text, &block, known).map_err(&refused)?;
    let record = LedgerEntry {
        client: client.id.to_owned(),
        file: file.clone(),
        created_file: record.created_file || before.is_none(),
        ..record
    };
    Ok(FileChange { client, file, before, after: Some(after), record: Some(record), is_first })
}

fn put(
    client: &Client,
    file: &Path,
    text: &str,
    block: &Block,
    record: Option<&LedgerEntry>,
) -> Result<(String, LedgerEntry), EditObstacle> {
    let known = record.cloned().unwrap_or_default();
    let target = client.target();
    // An untouched entry of ours is written again, so that an uninstall stays exact.
    let original = known.original(file, text);
    let original = original.unwrap_or_else(|| text.to_owned());
    let is_absent = edit::read(&original, target)?.is_none();
    let after = edit::put(&original, target, block)?;
    let digests = is_absent.then(|| Digests::new(&original, &after));
    Ok((after, LedgerEntry { digests, ..known }))
}

/// The change that removes our entry.
pub fn uninstall(
    client: &'static Client,
    machine: &Machine,
    scope: Scope,
    ledger: &Ledger,
) -> Result<FileChange, ChangeError> {
    let file = client.located(machine, scope)?;
    let before = read(&file)?;
    let record = ledger.find(client.id, &file).cloned().unwrap_or_default();
    let after = match &before {
        None => None,
        Some(text) => {
            let removed = take(client, &file, text, &record);
            let refused = |refusal| ChangeError::Refused { file: file.clone(), refusal, block: None };
            let after = removed.map_err(refused)?;
            let is_ours = record.created_file && after != *text && edit::is_blank(&after, client.format);
            (!is_ours).then_some(after)
        }
    };
    Ok(FileChange { client, file, before, after, record: None, is_first: false })
}

fn take(client: &Client, file: &Path, text: &str, record: &LedgerEntry) -> Result<String, EditObstacle> {
    if let Some(original) = record.original(file, text) {
        return Ok(original);
    }
    let target = client.target();
    match edit::read(text, target)? {
        None => Ok(text.to_owned()),
        Some(entry) => edit::remove(text, target, &inputs_of(&entry)),
    }
}

impl FileChange {
    pub fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// Whether the client knows our server afterwards.
    pub fn is_installation(&self) -> bool {
        self.record.is_some()
    }

    /// The entry before and after, each as it would stand in an empty file, without values that may be secret. Nothing else of the file
    /// changes, and nothing else is shown.
    pub fn shown(&self) -> [String; 2] {
        [&self.before, &self.after].map(|text| shown(self.client, text.as_deref().unwrap_or_default()))
    }

    /// Makes the change, and notes in the ledger how to take it back.
    pub fn apply(&mut self, ledger: &mut Ledger) -> Result<(), ChangeError> {
        let (client, file) = (self.client.id, self.file.clone());
        let known = ledger.find(client, &file).cloned();
        if self.is_needed() {
            let changed = self.change_file(known.as_ref());
            changed.map_err(|error| ChangeError::File { file: file.clone(), error })?;
        } else if self.is_installation() {
            return Ok(());
        }
        ledger.set(client, &file, self.record.clone())
    }

    fn change_file(&mut self, known: Option<&LedgerEntry>) -> Result<(), FileError> {
        match (&self.before, &self.after) {
            (before, Some(after)) => {
                let folders = file::create_folder_of(&self.file)?;
                if before.is_some() && self.is_first && self.record.is_some() {
                    file::back_up(&self.file)?;
                }
                file::replace(&self.file, before.as_deref(), after)?;
                if let Some(record) = &mut self.record {
                    record.created_folders.extend(folders);
                }
            }
            (Some(before), None) => file::delete(&self.file, before)?,
            (None, None) => {}
        }
        if let (None, Some(known)) = (&self.record, known) {
            remove_backup(&self.file, self.after.as_deref());
            // Folders that hold something else stay.
            known.created_folders.iter().rev().for_each(|it| drop(std::fs::remove_dir(it)));
        }
        Ok(())
    }
}

fn shown(client: &Client, text: &str) -> String {
    let Ok(Some(entry)) = edit::read(text, client.target()) else { return String::new() };
    let Value::Object(fields) = masked(&entry) else { return String::new() };
    let ids = inputs_of(&entry);
    let inputs = edit::read_at(text, client.format, &[INPUTS]).ok().flatten();
    let inputs = inputs.as_ref().and_then(Value::as_array).into_iter().flatten();
    let is_ours = |it: &&Value| it["id"].as_str().is_some_and(|id| ids.iter().any(|own| own == id));
    let inputs = inputs.filter(is_ours).map(masked).collect();
    edit::alone(client.target(), &Block { fields, inputs, ..Block::default() })
}

/// A backup is of no use once the file is what it was.
fn remove_backup(file: &Path, text: Option<&str>) {
    let backup = file::backup(file);
    if text.is_some() && file::read(&backup).ok().flatten().as_deref() == text {
        let _ = std::fs::remove_file(backup);
    }
}

fn read(file: &Path) -> Result<Option<String>, ChangeError> {
    file::read(file).map_err(|error| ChangeError::File { file: file.to_owned(), error })
}

impl Client {
    /// The entry as it would stand in an empty file: what a person can paste.
    pub fn alone(&self, entry: &ServerEntry, scope: Scope) -> Result<String, NotPossible> {
        Ok(edit::alone(self.target(), &self.block(entry, scope)?))
    }

    pub(crate) fn target(&self) -> Target<'_> {
        Target { format: self.format, keys: self.keys, name: NAME }
    }

    /// The configuration to read and edit.
    pub(crate) fn located(&self, machine: &Machine, scope: Scope) -> Result<PathBuf, ChangeError> {
        let missing = match scope {
            Scope::User => " has no configuration on this system",
            Scope::Project(_) => " has no configuration in a project's folder",
        };
        let file = self.file(machine, scope).ok_or(NotPossible(self.name, missing))?;
        if let Scope::Project(folder) = scope {
            let checked = file::refuse_links(folder, &file);
            checked.map_err(|error| ChangeError::File { file: file.clone(), error })?;
        }
        Ok(file)
    }
}
