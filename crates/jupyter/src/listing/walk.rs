//! Lists the folders below a folder, several at a time.

use std::collections::VecDeque;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rest::{ContentsQuery, Entry, EntryKind};

use crate::server_handle::ServerHandle;

/// How many folders are requested at once. Servers list them one after the other; this keeps them busy.
const CONCURRENT_REQUESTS: usize = 12;

/// Folders that are being listed, or wait for it; upper levels first.
pub(super) struct Walk<'a> {
    handle: &'a ServerHandle,
    max_depth: usize,
    waiting: VecDeque<(String, usize)>,
    requests: FuturesUnordered<BoxFuture<'a, Listed>>,
    /// Number of folders entered so far.
    pub(super) entered: usize,
}

pub(super) struct Listed {
    pub(super) path: String,
    depth: usize,
    /// Without what people do not look for.
    pub(super) entries: rest::Result<Vec<Entry>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(handle: &'a ServerHandle, max_depth: usize) -> Self {
        Self { handle, max_depth, waiting: VecDeque::new(), requests: FuturesUnordered::new(), entered: 0 }
    }

    /// Enters the folders among these entries of a folder. Returns those that are shown.
    pub(super) fn enter(&mut self, mut entries: Vec<Entry>, depth: usize) -> Vec<Entry> {
        if depth > 0 && is_foreign(&entries) {
            return Vec::new();
        }
        entries.retain(|entry| !is_hidden(&entry.name));
        if depth < self.max_depth {
            let folders = entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
            let folders = folders.filter(|entry| !is_of_tools(&entry.name));
            let before = self.waiting.len();
            self.waiting.extend(folders.map(|entry| (entry.path.clone(), depth + 1)));
            self.entered += self.waiting.len() - before;
        }
        entries
    }

    pub(super) async fn next(&mut self) -> Option<Listed> {
        while self.requests.len() < CONCURRENT_REQUESTS
            && let Some((path, depth)) = self.waiting.pop_front()
        {
            let handle = self.handle;
            self.requests.push(Box::pin(async move {
                let entries = folder(handle, &path).await;
                Listed { path, depth, entries }
            }));
        }
        let Listed { path, depth, entries } = self.requests.next().await?;
        Some(Listed { path, depth, entries: entries.map(|entries| self.enter(entries, depth)) })
    }
}

pub(super) async fn folder(handle: &ServerHandle, path: &str) -> rest::Result<Vec<Entry>> {
    Ok(handle.contents(path, ContentsQuery::Listing).await?.entries)
}

/// Jupyter hides these too.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "__pycache__"
}

fn is_of_tools(name: &str) -> bool {
    name == "node_modules" || name == "site-packages"
}

/// Whether a folder with these entries was made by tools: an environment, the output of a build.
fn is_foreign(entries: &[Entry]) -> bool {
    let marks = ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"];
    entries.iter().any(|entry| marks.contains(&entry.name.as_str()))
}
