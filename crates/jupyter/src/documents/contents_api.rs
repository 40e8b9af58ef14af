//! A notebook on a server without rooms: it is read and written through the contents API.

mod direct_file;
mod kept_copy;
mod recover;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use notebook::{Edit, Notebook};
use parking_lot::Mutex;
use place::{CachedVersion, Content, Error, NotebookStore, Replaced};
use rest::{ContentsQuery, Entry, Server};
use tokio::sync::OnceCell;

use crate::failure;
use crate::server_handle::ServerHandle;
use recover::Found;

/// Greatest age of the server's last answer about a file that is replaced.
const FRESH: Duration = Duration::from_millis(50);
/// The same on a machine, also for reading: its requests travel far, and no other program edits there.
const FRESH_ON_MACHINE: Duration = Duration::from_millis(300);

const NOTICE: &str = "This server has no real-time collaboration: a person who has the notebook open sees \
    changes only after reloading it, and may be asked whether to overwrite them. Install jupyter-collaboration on the \
    server to edit together.";

/// The notice about such a notebook, for agents.
pub(crate) fn notice(handle: &ServerHandle) -> String {
    let Some(machine) = &handle.machine else { return NOTICE.to_owned() };
    let copies = machine.copies.as_ref().map(|folder| {
        format!(
            " After each change, a copy of the notebook is kept on this computer, in {}.",
            folder.display()
        )
    });
    format!("The files of {} end with it.{}", machine.title, copies.unwrap_or_default())
}

pub(crate) struct ContentsStore {
    handle: Arc<ServerHandle>,
    path: String,
    /// The file, if we live in the server's process and can read it.
    file: OnceCell<Option<PathBuf>>,
    /// The server's last answer about the file.
    answered: Mutex<Option<Instant>>,
}

/// Identifies one content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    hash: Option<String>,
    modified: Option<String>,
    size: Option<u64>,
}

impl Version {
    fn of(entry: &Entry) -> Self {
        Self { hash: entry.hash.clone(), modified: entry.last_modified.clone(), size: entry.size }
    }

    /// Whether both are certainly the same content. Times alone may be too coarse.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.hash, &other.hash) {
            (Some(one), Some(other)) => one == other,
            _ => self.modified.is_some() && self.modified == other.modified && self.size == other.size,
        }
    }
}

impl ContentsStore {
    pub(crate) fn new(handle: Arc<ServerHandle>, path: String) -> Self {
        Self { handle, path, file: OnceCell::new(), answered: Mutex::default() }
    }

    fn is_fresh(&self) -> bool {
        let limit = if self.handle.machine.is_some() { FRESH_ON_MACHINE } else { FRESH };
        self.answered.lock().is_some_and(|answered| answered.elapsed() <= limit)
    }

    async fn meta(&self) -> Result<Version, Error> {
        match self.file().await {
            Some(file) => self.read_file(file).await.map(|(version, _)| version),
            None => self.request(ContentsQuery::Hash).await.map(|entry| Version::of(&entry)),
        }
    }

    async fn request(&self, want: ContentsQuery) -> Result<Entry, Error> {
        let entry = self.handle.contents(&self.path, want).await.map_err(|error| match error.kind {
            rest::Kind::NotFound => failure::no_notebook(&self.path, &self.handle.title()),
            _ => failure::of(error),
        })?;
        *self.answered.lock() = Some(Instant::now());
        Ok(entry)
    }

    async fn write(&self, text: Bytes) -> rest::Result<Version> {
        let save = |server: Server| {
            let (path, text) = (self.path.clone(), text.clone());
            async move { server.save_notebook(&path, vec![text]).await }
        };
        let saved = match save(self.handle.server().await?).await {
            // The Hub answered in place of the server, so that nothing was written.
            Err(error) if matches!(error.kind, rest::Kind::Stopped | rest::Kind::Starting) => {
                self.handle.attempt(save).await
            }
            Err(error) if error.kind == rest::Kind::Gone => Err(self.handle.note_end(error)),
            // Not retried otherwise: a write that failed may have been made.
            saved => saved,
        };
        saved.map(|entry| Version::of(&entry))
    }
}

impl NotebookStore for ContentsStore {
    type Version = Version;

    const MAX_ATTEMPTS: u32 = 20;
    /// The requests themselves take long enough.
    const RETRY_DELAY: Duration = Duration::ZERO;

    fn path(&self) -> &str {
        &self.path
    }

    async fn read(&self, known: Option<&CachedVersion<Version>>) -> Result<Content<Version>, Error> {
        let is_known = |version: &Version| known.is_some_and(|known| version.is_same(&known.version));
        if let Some(file) = self.file().await {
            return self.read_notebook_file(file, is_known).await;
        }
        if let Some(known) = known {
            if self.handle.machine.is_some() && self.is_fresh() {
                return Ok(Content::Unchanged { version: known.version.clone() });
            }
            let version = self.meta().await?;
            if is_known(&version) {
                return Ok(Content::Unchanged { version });
            }
        }
        let entry = self.request(ContentsQuery::Notebook).await?;
        let version = Version::of(&entry);
        let content = entry
            .content
            .ok_or_else(|| Error::unreadable_notebook(&self.path, "the server sent no content"))?;
        let notebook =
            Notebook::parse(content).map_err(|error| Error::unreadable_notebook(&self.path, error))?;
        Ok(Content::Changed { notebook, version })
    }

    async fn replace(
        &self,
        current: &CachedVersion<Version>,
        edited: Notebook,
        edits: &[Edit],
    ) -> Result<Replaced<Version>, Error> {
        if !edited.is_modified() {
            return Ok(Replaced::Written { notebook: edited, version: current.version.clone() });
        }
        // As late as possible: the server cannot compare and write in one step.
        let text = text(&edited)?;
        if !self.is_fresh() && !self.meta().await?.is_same(&current.version) {
            *self.answered.lock() = None;
            return Ok(Replaced::Conflict);
        }
        let written = match self.write(text).await {
            Ok(written) => written,
            Err(error) => {
                let Found { notebook, version } = self.recover(error, current, &edited, edits).await?;
                return Ok(Replaced::Written { notebook, version });
            }
        };
        self.keep_copy(&edited).await;
        let version = self.meta().await?;
        if version.modified != written.modified {
            *self.answered.lock() = None;
            return Ok(Replaced::Race);
        }
        Ok(Replaced::Written { notebook: edited, version })
    }
}

pub(super) fn text(notebook: &Notebook) -> Result<Bytes, Error> {
    let mut text = Vec::new();
    notebook.write(&mut text).map_err(Error::notebook_task_failed)?;
    Ok(text.into())
}
