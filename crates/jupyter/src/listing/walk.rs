//! Lists the folders below a folder, several at a time.

use std::collections::VecDeque;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rest::{ContentsQuery, Entry, RestError};

use crate::server_handle::ServerHandle;

/// How many folders are requested at once. Servers list them one after the other; this keeps them busy.
const CONCURRENT_REQUESTS: usize = 12;

/// Folders that are being listed, or wait for it; upper levels first.
pub(super) struct Walk<'a> {
    handle: &'a ServerHandle,
    waiting: VecDeque<(String, usize)>,
    requests: FuturesUnordered<BoxFuture<'a, Listed>>,
    entered: usize,
}

pub(super) struct Listed {
    pub(super) path: String,
    pub(super) depth: usize,
    pub(super) entries: rest::Result<Vec<Entry>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(handle: &'a ServerHandle) -> Self {
        Self { handle, waiting: VecDeque::new(), requests: FuturesUnordered::new(), entered: 0 }
    }

    pub(super) fn enter(&mut self, path: String, depth: usize) {
        self.entered += 1;
        self.waiting.push_back((path, depth));
    }

    /// How many folders were entered so far.
    pub(super) fn entered(&self) -> usize {
        self.entered
    }

    pub(super) async fn next(&mut self) -> Option<Listed> {
        while self.requests.len() < CONCURRENT_REQUESTS
            && let Some((path, depth)) = self.waiting.pop_front()
        {
            let handle = self.handle;
            self.requests.push(Box::pin(async move {
                let entries = handle.attempt(|server| folder(server, path.clone())).await;
                Listed { path, depth, entries }
            }));
        }
        self.requests.next().await
    }
}

pub(super) async fn folder(server: rest::Server, path: String) -> Result<Vec<Entry>, RestError> {
    Ok(server.contents(&path, ContentsQuery::Listing).await?.entries)
}

/// Jupyter hides these too.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "__pycache__"
}

pub(super) fn is_of_tools(name: &str) -> bool {
    name == "node_modules" || name == "site-packages"
}

/// Whether a folder with these entries was made by tools: an environment, the output of a build.
pub(super) fn is_foreign(entries: &[Entry]) -> bool {
    let marks = ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"];
    entries.iter().any(|entry| marks.contains(&entry.name.as_str()))
}
