//! The open notebooks of a server: one document for each, however often it is opened.

mod contents_api;
mod document;
mod live;
mod unreadable;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use notebook::Notebook;
use parking_lot::Mutex;
use place::{Error, Mode, NotebookPath};
use rest::{ContentsQuery, EntryKind, Kind};
use tokio::sync::OnceCell;

use crate::failure;
use crate::paths::Prefix;
use crate::server_handle::ServerHandle;
pub(crate) use document::ServerDocument;
pub(crate) struct Documents {
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    opened: Mutex<HashMap<String, Slot>>,
}

/// Empty until the document is open.
type Slot = Arc<OnceCell<Arc<ServerDocument>>>;

impl Documents {
    pub(crate) fn new(handle: Arc<ServerHandle>, prefix: Prefix) -> Self {
        Self { handle, prefix, opened: Mutex::default() }
    }

    /// Opens a notebook. One that is open already costs no request, unless its file may have moved: if another file is at
    /// its path now, that one is opened.
    pub(crate) async fn open(&self, path: &NotebookPath, mode: Mode) -> Result<Arc<ServerDocument>, Error> {
        let path = self.prefix.strip_notebook(path)?;
        if mode == Mode::Create {
            self.create(&path).await?;
            // A document that was open at this path is of another file.
            self.opened.lock().remove(&path);
        }
        let mut slot = self.opened.lock().entry(path.clone()).or_default().clone();
        let mut before = None;
        if let Some(document) = slot.get().cloned()
            && document.is_displaced().await
        {
            slot = self.replace(&path, &slot);
            before = Some(document);
        }
        let opened = slot.get_or_try_init(|| async {
            self.check(&path).await?;
            let shown = self.prefix.shown(&path).into();
            let document = ServerDocument::new(self.handle.clone(), path.clone(), shown);
            document.open().await?;
            Ok::<_, Error>(document)
        });
        let opened = opened.await?.clone();
        if let Some(before) = before {
            opened.inherit_lost_edits(&before);
        }
        if mode == Mode::Create {
            opened.remove_default_cell();
        }
        Ok(opened)
    }

    /// Replaces a slot by a new one, unless another call has done so.
    fn replace(&self, path: &str, old: &Slot) -> Slot {
        let mut opened = self.opened.lock();
        let slot = opened.entry(path.to_owned()).or_default();
        if Arc::ptr_eq(slot, old) {
            *slot = Slot::default();
        }
        slot.clone()
    }

    /// Fails unless there is a notebook at the path.
    async fn check(&self, path: &str) -> Result<(), Error> {
        let shown = self.prefix.shown(path);
        match self.handle.contents(path, ContentsQuery::Attributes).await {
            Ok(entry) if entry.kind == EntryKind::Directory => {
                Err(Error::not_a_notebook(&shown, "it is a folder"))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind == Kind::NotFound => {
                Err(failure::no_notebook(&shown, &self.handle.title()))
            }
            Err(error) => Err(failure::of(error)),
        }
    }

    async fn create(&self, path: &str) -> Result<(), Error> {
        let text = contents_api::text(&Notebook::new())?;
        let created = self.handle.attempt(|server| {
            let text = text.clone();
            async move { server.create_notebook(path, vec![text]).await }
        });
        let shown = self.prefix.shown(path);
        match created.await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == Kind::Conflict => Err(Error::notebook_exists(&shown)),
            Err(error) => {
                let error = failure::of(error);
                let cause = format!("The notebook {shown:?} could not be created. {}", error.cause);
                Err(Error { cause, ..error })
            }
        }
    }

    /// Leaves all rooms.
    pub(crate) async fn leave(&self) {
        let opened: Vec<_> = self.opened.lock().values().filter_map(|slot| slot.get().cloned()).collect();
        join_all(opened.iter().map(|document| document.leave())).await;
    }
}

#[cfg(test)]
mod tests;
