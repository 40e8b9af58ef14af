//! The notebooks of a server that are open: one document for each, however often and under whatever path it is opened.

mod contents_api;
mod document;
mod live;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use notebook::Notebook;
use rest::{EntryKind, Kind, Want};
use tokio::sync::OnceCell;
use workspace::{Error, ErrorKind, Mode};

use crate::failure;
use crate::paths::Prefix;
use crate::server_handle::ServerHandle;
use document::ServerDocument;
use parking_lot::{Mutex, MutexGuard};

pub(crate) struct Documents {
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    opened: Mutex<HashMap<String, Slot>>,
}

/// A document, once it is open.
type Slot = Arc<OnceCell<Arc<ServerDocument>>>;

impl Documents {
    pub(crate) fn new(handle: Arc<ServerHandle>, prefix: Prefix) -> Self {
        Self { handle, prefix, opened: Mutex::default() }
    }

    /// Opens a notebook. One that is open costs no request, unless its file may be elsewhere: where another has taken the
    /// path, that one is opened.
    pub(crate) async fn open(&self, path: &str, mode: Mode) -> Result<Arc<ServerDocument>, Error> {
        let path = self.prefix.strip_notebook(path)?;
        if mode == Mode::Create {
            self.create(&path).await?;
            // What was open there is another file.
            self.opened().remove(&path);
        }
        let mut slot = self.opened().entry(path.clone()).or_default().clone();
        let mut before = None;
        if let Some(document) = slot.get().cloned()
            && document.is_displaced().await
        {
            slot = self.replace(&path, &slot);
            before = Some(document);
        }
        let opened = slot.get_or_try_init(|| async {
            self.check(&path).await?;
            let shown = self.prefix.shown(&path);
            let document = ServerDocument::new(self.handle.clone(), path.clone(), shown);
            document.open().await?;
            Ok::<_, Error>(document)
        });
        let opened = opened.await?.clone();
        if let Some(before) = before {
            opened.follow(&before);
        }
        if mode == Mode::Create {
            opened.remove_default_cell();
        }
        Ok(opened)
    }

    /// A new slot in place of this one, unless somebody else has put one there.
    fn replace(&self, path: &str, old: &Slot) -> Slot {
        let mut opened = self.opened();
        let slot = opened.entry(path.to_owned()).or_default();
        if Arc::ptr_eq(slot, old) {
            *slot = Slot::default();
        }
        slot.clone()
    }

    /// What is there must be a notebook.
    async fn check(&self, path: &str) -> Result<(), Error> {
        let shown = self.prefix.shown(path);
        let asked = self.handle.attempt(None, |server| {
            let path = path.to_owned();
            async move { server.contents(&path, Want::Glance).await }
        });
        match asked.await {
            Ok(entry) if entry.kind == EntryKind::Directory => {
                Err(failure::not_a_notebook(&shown, "it is a folder"))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind == Kind::NotFound => {
                Err(failure::no_notebook(&shown, &self.handle.title()))
            }
            Err(error) => Err(failure::of(error)),
        }
    }

    async fn create(&self, path: &str) -> Result<(), Error> {
        let mut text = Vec::new();
        Notebook::new().write(&mut text).map_err(|error| failure::ours(&error))?;
        let text = Bytes::from(text);
        let made = self.handle.attempt(None, |server| {
            let (path, text) = (path.to_owned(), text.clone());
            async move { server.create_notebook(&path, vec![text]).await }
        });
        let shown = self.prefix.shown(path);
        match made.await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == Kind::Conflict => Err(Error::new(
                ErrorKind::Conflict,
                format!("There is a notebook {shown:?} already; it was left as it is."),
                "Open it with mode \"connect\", or give another path.",
            )),
            Err(error) => {
                let error = failure::of(error);
                let cause = format!("The notebook {shown:?} could not be made. {}", error.cause);
                Err(Error { cause, ..error })
            }
        }
    }

    /// Says goodbye in all rooms.
    pub(crate) async fn leave(&self) {
        let opened: Vec<_> = self.opened().values().filter_map(|slot| slot.get().cloned()).collect();
        join_all(opened.iter().map(|document| document.leave())).await;
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.opened.lock()
    }
}

#[cfg(test)]
mod tests;
