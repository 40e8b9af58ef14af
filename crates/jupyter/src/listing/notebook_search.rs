//! Searches a server's folders for notebooks, and remembers what it found.
//!
//! A tree of 200 notebooks takes a server some 200 ms, and a large one seconds. So a search runs in the background, a
//! call waits for it only so long, and its result serves the calls of the next seconds.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use place::{Error, FoundNotebooks, NotebookPath, SearchExtent};
use rest::{Entry, EntryKind};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::walk::{Walk, folder};
use crate::failure;
use crate::paths::Prefix;
use crate::server_handle::ServerHandle;

/// How far a search goes: folders, levels, time.
const MAX_FOLDERS: usize = 2_000;
const MAX_DEPTH: usize = 24;
const MAX_DURATION: Duration = Duration::from_secs(8);

/// How long a call waits for a search to end.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a finished search is not repeated. Others may add notebooks at any time.
const FRESH: Duration = Duration::from_secs(5);

pub(crate) struct NotebookSearch {
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    call_timeout: Duration,
    last: Mutex<Option<Search>>,
    /// Held while the root folder is listed: calls during that time share one search.
    starting: tokio::sync::Mutex<()>,
}

/// A search that runs or has ended. Ends with this value.
struct Search {
    limit: usize,
    found: Arc<watch::Sender<Found>>,
    task: AbortOnDropHandle<()>,
}

/// What a search has found so far.
#[derive(Default)]
struct Found {
    paths: Vec<NotebookPath>,
    /// When it ended, and how.
    end: Option<(Instant, SearchExtent)>,
}

impl Search {
    /// Whether it still runs or has just ended.
    fn is_current(&self) -> bool {
        match self.found.borrow().end {
            Some((at, _)) => at.elapsed() < FRESH,
            None => !self.task.is_finished(),
        }
    }
}

impl NotebookSearch {
    pub(crate) fn new(handle: Arc<ServerHandle>, prefix: Prefix) -> Self {
        Self {
            handle,
            prefix,
            call_timeout: CALL_TIMEOUT,
            last: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        }
    }

    /// At most `limit` notebooks, those of the upper folders first. Fails if the root folder cannot be listed.
    pub(crate) async fn find(&self, limit: usize) -> Result<FoundNotebooks, Error> {
        let found = match self.current(limit) {
            Some(found) => found,
            None => self.start(limit).await?,
        };
        let mut progress = found.subscribe();
        // Out of time, it answers with what there is.
        let _ = timeout(self.call_timeout, progress.wait_for(|found| found.end.is_some())).await;
        let found = found.borrow();
        let mut extent = found.end.map_or(SearchExtent::InProgress, |(_, extent)| extent);
        let mut paths = found.paths.clone();
        if paths.len() > limit {
            paths.truncate(limit);
            extent = SearchExtent::Truncated;
        }
        paths.sort();
        paths.dedup();
        Ok(FoundNotebooks { paths, extent })
    }

    /// Adds a notebook that was created just now, so that it is found before the next search.
    pub(crate) fn add(&self, path: &NotebookPath) {
        if let Some(search) = &*self.last.lock() {
            search.found.send_modify(|found| found.paths.insert(0, path.clone()));
        }
    }

    fn current(&self, limit: usize) -> Option<Arc<watch::Sender<Found>>> {
        let last = self.last.lock();
        let search = last.as_ref().filter(|search| search.limit >= limit && search.is_current())?;
        Some(search.found.clone())
    }

    async fn start(&self, limit: usize) -> Result<Arc<watch::Sender<Found>>, Error> {
        let _one_at_a_time = self.starting.lock().await;
        if let Some(found) = self.current(limit) {
            return Ok(found);
        }
        // Not in the background: starting a server through its Hub reports progress to the caller.
        let root = folder(&self.handle, &self.prefix.strip("")?).await.map_err(failure::of)?;
        let found = Arc::new(watch::Sender::new(Found::default()));
        let search = run(self.handle.clone(), self.prefix.clone(), root, limit, found.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(search));
        *self.last.lock() = Some(Search { limit, found: found.clone(), task });
        Ok(found)
    }
}

async fn run(
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    root: Vec<Entry>,
    limit: usize,
    found: Arc<watch::Sender<Found>>,
) {
    let deadline = Instant::now() + MAX_DURATION;
    let mut walk = Walk::new(&handle, MAX_DEPTH);
    let mut entries = walk.enter(root, 0);
    let extent = loop {
        let notebooks = entries.iter().filter(|entry| entry.kind == EntryKind::Notebook);
        let mut paths = notebooks.map(|entry| prefix.shown(&entry.path).into()).collect();
        let mut count = 0;
        found.send_modify(|found| {
            found.paths.append(&mut paths);
            count = found.paths.len();
        });
        if count > limit || walk.entered > MAX_FOLDERS {
            break SearchExtent::Truncated;
        }
        match timeout_at(deadline, walk.next()).await {
            // A folder that cannot be read has no notebooks to show.
            Ok(Some(listed)) => entries = listed.entries.unwrap_or_default(),
            Ok(None) => break SearchExtent::Complete,
            Err(_) => break SearchExtent::Truncated,
        }
    };
    found.send_modify(|found| found.end = Some((Instant::now(), extent)));
}

#[cfg(test)]
mod tests;
