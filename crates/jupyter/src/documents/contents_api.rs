//! A notebook on a server where nobody edits together: it is read and written through the contents API.

mod direct_file;
mod recover;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use notebook::{Edit, Notebook};
use rest::{Entry, Want};
use tokio::sync::{Mutex, OnceCell, watch};
use workspace::{Applied, Error, ErrorKind, Expected, SaveStatus};

use crate::failure;
use crate::server_handle::ServerHandle;
use recover::Left;

/// How often a change is made again on what somebody else has just written.
const WRITINGS: u32 = 20;

/// How old a look at the file may be when it is replaced.
const FRESH: Duration = Duration::from_millis(50);

/// What an agent is told of such a notebook.
pub(crate) const NOTICE: &str = "This server has no real-time collaboration: a person who has the notebook open sees \
    changes only after reloading it, and may be asked whether to overwrite them. Install jupyter-collaboration on the \
    server to edit together.";

/// A stored notebook. The newest state that is known of it is kept.
pub(crate) struct ContentsDocument {
    handle: Arc<ServerHandle>,
    path: String,
    /// Also the queue of those who want to change it.
    known: Mutex<Option<Known>>,
    changes: watch::Sender<u64>,
    /// The file, if it can be read without the server.
    file: OnceCell<Option<PathBuf>>,
}

#[derive(Clone)]
struct Known {
    notebook: Notebook,
    version: Version,
}

/// What tells one content of a file from another.
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

    /// Whether both surely are the same content. Times are as coarse as the server's disk has them.
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
        for _ in 0..WRITINGS {
            let looked = Instant::now();
            let current = self.refresh(&mut known).await?;
            for expected in expected {
                expected.check(&current.notebook)?;
            }
            let mut notebook = current.notebook.clone();
            for edit in edits {
                notebook.apply(edit).map_err(|error| failure::refused(&self.path, &error))?;
            }
            if !notebook.is_modified() {
                return Ok(Applied { notebook, saved: SaveStatus::OnDisk });
            }
            // As late as can be: there is no way to let the server check and write in one.
            let text = text(&notebook)?;
            if looked.elapsed() > FRESH && !self.meta().await?.is_same(&current.version) {
                continue;
            }
            let written = match self.write(text).await {
                Ok(written) => written,
                Err(error) => match self.after(error, &current, &notebook, edits).await {
                    Left::Written(found) => {
                        *known = Some(found.clone());
                        return Ok(Applied { notebook: found.notebook, saved: SaveStatus::OnDisk });
                    }
                    Left::NotWritten(error) => return Err(error),
                },
            };
            let now = self.meta().await?;
            if now.modified != written.modified {
                // Somebody wrote at the same moment; what is there now decides.
                let current = self.refresh(&mut known).await?;
                if edits.iter().all(|edit| edit.is_applied(&current.notebook)) {
                    return Ok(Applied { notebook: current.notebook, saved: SaveStatus::OnDisk });
                }
                continue;
            }
            *known = Some(Known { notebook: notebook.clone(), version: now });
            return Ok(Applied { notebook, saved: SaveStatus::OnDisk });
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!("Others keep changing the notebook {:?}; nothing was written.", self.path),
            "Try again in a moment.",
        ))
    }

    /// Reads the file if it changed since it was last read. For whoever wants to hear of changes.
    pub(crate) async fn look(&self) {
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
            return Err(failure::unreadable(&self.path, &"it was not read"));
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

    /// The notebook as it is in the file; `None` if that is what is known.
    async fn newer(&self, known: Option<&Known>) -> Result<Option<(Version, Notebook)>, Error> {
        let is_known = |version: &Version| known.is_some_and(|known| version.is_same(&known.version));
        if let Some(file) = self.file().await {
            return self.newer_beside(file, is_known).await;
        }
        if known.is_some() && is_known(&self.meta().await?) {
            return Ok(None);
        }
        let entry = self.ask(Want::Notebook).await?;
        let version = Version::of(&entry);
        let content =
            entry.content.ok_or_else(|| failure::unreadable(&self.path, &"the server sent no content"))?;
        let notebook = Notebook::parse(content).map_err(|error| failure::unreadable(&self.path, &error))?;
        Ok(Some((version, notebook)))
    }

    async fn meta(&self) -> Result<Version, Error> {
        match self.file().await {
            Some(file) => self.read_beside(file).await.map(|(version, _)| version),
            None => self.ask(Want::Meta).await.map(|entry| Version::of(&entry)),
        }
    }

    async fn ask(&self, want: Want) -> Result<Entry, Error> {
        let path = self.path.clone();
        let asked = self.handle.attempt(None, |server| {
            let path = path.clone();
            async move { server.contents(&path, want).await }
        });
        asked.await.map_err(|error| self.failure(error))
    }

    async fn write(&self, text: Bytes) -> rest::Result<Version> {
        // Not tried again by itself: what was written may have been written.
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
    notebook.write(&mut text).map_err(|error| failure::ours(&error))?;
    Ok(text.into())
}
