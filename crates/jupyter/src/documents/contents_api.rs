//! A notebook on a server without rooms: it is read and written through the contents API.

mod direct_file;
mod recover;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use notebook::{Edit, Notebook};
use rest::{Entry, Want};
use tokio::sync::{Mutex, OnceCell, watch};
use workspace::{Applied, Error, Expected, SaveStatus};

use crate::failure;
use crate::server_handle::ServerHandle;
use recover::Recovered;

/// How often an edit is tried while others change the notebook.
const MAX_ATTEMPTS: u32 = 20;

/// How old the last comparison with the file may be when it is replaced.
const FRESH: Duration = Duration::from_millis(50);

/// The notice about such a notebook, for agents.
pub(crate) const NOTICE: &str = "This server has no real-time collaboration: a person who has the notebook open sees \
    changes only after reloading it, and may be asked whether to overwrite them. Install jupyter-collaboration on the \
    server to edit together.";

/// The last known content is kept.
pub(crate) struct ContentsDocument {
    handle: Arc<ServerHandle>,
    path: String,
    /// Held while the notebook is read or written, so edits are made one after the other.
    known: Mutex<Option<Known>>,
    changes: watch::Sender<u64>,
    /// The file, if we live in the server's process and can read it.
    file: OnceCell<Option<PathBuf>>,
}

#[derive(Clone)]
struct Known {
    notebook: Notebook,
    version: Version,
}

/// Identifies one content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
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

impl ContentsDocument {
    pub(crate) fn new(handle: Arc<ServerHandle>, path: String, changes: watch::Sender<u64>) -> Self {
        Self { handle, path, known: Mutex::new(None), changes, file: OnceCell::new() }
    }

    pub(crate) async fn snapshot(&self) -> Result<Notebook, Error> {
        let mut known = self.known.lock().await;
        Ok(self.refresh(&mut known).await?.notebook)
    }

    pub(crate) async fn apply(&self, edits: &[Edit], expected: &[Expected]) -> Result<Applied, Error> {
        let mut known = self.known.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let looked = Instant::now();
            let current = self.refresh(&mut known).await?;
            for expected in expected {
                expected.check(&current.notebook)?;
            }
            let mut notebook = current.notebook.clone();
            for edit in edits {
                notebook.apply(edit).map_err(|error| Error::edit_refused(&self.path, error))?;
            }
            if !notebook.is_modified() {
                return Ok(Applied { notebook, saved: SaveStatus::OnDisk });
            }
            // As late as possible: the server cannot compare and write in one step.
            let text = text(&notebook)?;
            if looked.elapsed() > FRESH && !self.meta().await?.is_same(&current.version) {
                continue;
            }
            let written = match self.write(text).await {
                Ok(written) => written,
                Err(error) => match self.recover(error, &current, &notebook, edits).await {
                    Recovered::Written(found) => {
                        *known = Some(found.clone());
                        return Ok(Applied { notebook: found.notebook, saved: SaveStatus::OnDisk });
                    }
                    Recovered::NotWritten(error) => return Err(error),
                },
            };
            let now = self.meta().await?;
            if now.modified != written.modified {
                // Somebody else wrote at the same moment; the file now has one of both contents.
                let current = self.refresh(&mut known).await?;
                if edits.iter().all(|edit| edit.is_applied(&current.notebook)) {
                    return Ok(Applied { notebook: current.notebook, saved: SaveStatus::OnDisk });
                }
                continue;
            }
            *known = Some(Known { notebook: notebook.clone(), version: now });
            return Ok(Applied { notebook, saved: SaveStatus::OnDisk });
        }
        Err(Error::notebook_busy(&self.path))
    }

    /// Reads the file again if it was read before, so that subscribers are notified of a change.
    pub(crate) async fn refresh_if_read(&self) {
        let mut known = self.known.lock().await;
        if known.is_some()
            && let Err(error) = self.refresh(&mut known).await
        {
            tracing::debug!("{}: {}", self.path, error.cause);
        }
    }

    async fn refresh(&self, known: &mut Option<Known>) -> Result<Known, Error> {
        let Some((version, mut notebook)) = self.newer(known.as_ref()).await? else {
            if let Some(known) = known {
                return Ok(known.clone());
            }
            return Err(Error::unreadable_notebook(&self.path, "it was not read"));
        };
        if let Some(before) = &*known {
            notebook.carry_ids(&before.notebook);
        }
        let now = Known { notebook, version };
        if known.replace(now.clone()).is_some() {
            self.changes.send_modify(|count| *count += 1);
        }
        Ok(now)
    }

    /// The content of the file; `None` if that is the known one.
    async fn newer(&self, known: Option<&Known>) -> Result<Option<(Version, Notebook)>, Error> {
        let is_known = |version: &Version| known.is_some_and(|known| version.is_same(&known.version));
        if let Some(file) = self.file().await {
            return self.newer_in_file(file, is_known).await;
        }
        if known.is_some() && is_known(&self.meta().await?) {
            return Ok(None);
        }
        let entry = self.request(Want::Notebook).await?;
        let version = Version::of(&entry);
        let content = entry
            .content
            .ok_or_else(|| Error::unreadable_notebook(&self.path, "the server sent no content"))?;
        let notebook =
            Notebook::parse(content).map_err(|error| Error::unreadable_notebook(&self.path, error))?;
        Ok(Some((version, notebook)))
    }

    async fn meta(&self) -> Result<Version, Error> {
        match self.file().await {
            Some(file) => self.read_file(file).await.map(|(version, _)| version),
            None => self.request(Want::Meta).await.map(|entry| Version::of(&entry)),
        }
    }

    async fn request(&self, want: Want) -> Result<Entry, Error> {
        let path = self.path.clone();
        let request = self.handle.attempt(|server| {
            let path = path.clone();
            async move { server.contents(&path, want).await }
        });
        request.await.map_err(|error| self.failure(error))
    }

    async fn write(&self, text: Bytes) -> rest::Result<Version> {
        // Not retried: a write that failed may have been made.
        let server = self.handle.server().await?;
        server.save_notebook(&self.path, vec![text]).await.map(|entry| Version::of(&entry))
    }

    fn failure(&self, error: rest::RestError) -> Error {
        if error.kind == rest::Kind::NotFound {
            return failure::no_notebook(&self.path, &self.handle.title());
        }
        failure::of(error)
    }
}

fn text(notebook: &Notebook) -> Result<Bytes, Error> {
    let mut text = Vec::new();
    notebook.write(&mut text).map_err(Error::notebook_task_failed)?;
    Ok(text.into())
}
