//! What lies in a server's folders.

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rest::{Entry, EntryKind, Kind, RestError, Want};
use tokio::time::{Duration, Instant, timeout_at};
use workspace::{Error, ErrorKind, FileEntry, FileKind};

use crate::failure;
use crate::link::Link;
use crate::paths::{Prefix, is_notebook};
use crate::time;

/// How many folders are asked for at once. Servers list them one after the other; this keeps them busy.
const AT_ONCE: usize = 12;

/// How many rows one listing has at most.
const MOST_ROWS: usize = 20_000;

/// How far a search for notebooks goes: folders, levels, time.
const MOST_FOLDERS: usize = 2_000;
const DEEPEST: usize = 24;
const LONGEST: Duration = Duration::from_secs(8);

/// The rows below the folder `path`, sorted. Folders of one level are listed side by side.
pub(crate) async fn list(
    link: &Link,
    prefix: &Prefix,
    path: &str,
    max_depth: usize,
) -> Result<Vec<FileEntry>, Error> {
    let root = prefix.strip(path)?;
    let first = link.attempt(None, |server| folder(server, root.clone())).await;
    let first = first.map_err(|error| not_listed(path, link, error))?;
    let mut rows = Vec::new();
    let mut walk = Walk::new(link);
    take(prefix, first, 0, max_depth, &mut rows, &mut walk);
    while let Some((path, depth, listed)) = walk.next().await {
        match listed {
            Ok(entries) => take(prefix, entries, depth, max_depth, &mut rows, &mut walk),
            Err(error) => {
                rows.retain(|row: &FileEntry| row.path != prefix.shown(&path));
                rows.push(plain(prefix.shown(&path), FileKind::Unreadable(error.cause)));
            }
        }
        if rows.len() > MOST_ROWS {
            break;
        }
    }
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    if rows.len() > MOST_ROWS {
        rows.truncate(MOST_ROWS);
        let more = format!("there is more than the first {MOST_ROWS} entries");
        rows.push(plain(prefix.shown(&root), FileKind::Unreadable(more)));
    }
    Ok(rows)
}

fn not_listed(path: &str, link: &Link, error: RestError) -> Error {
    let what = match error.kind {
        Kind::NotFound => "There is no folder",
        Kind::Refused => "There is a file, not a folder,",
        _ => return failure::of(error),
    };
    Error::new(
        ErrorKind::NotFound,
        format!("{what} {path:?} on {}.", link.title()),
        "Call list_files with path \"\" to see what there is from the root folder on.",
    )
}

fn take(
    prefix: &Prefix,
    entries: Vec<Entry>,
    depth: usize,
    max_depth: usize,
    rows: &mut Vec<FileEntry>,
    walk: &mut Walk<'_>,
) {
    let is_foreign = is_foreign(&entries);
    for entry in entries.into_iter().filter(|entry| !is_hidden(&entry.name)) {
        let is_folder = entry.kind == EntryKind::Directory;
        if is_folder && depth < max_depth && (depth == 0 || !is_foreign) && !is_of_tools(&entry.name) {
            walk.enter(entry.path.clone(), depth + 1);
        }
        if depth == 0 || !is_foreign {
            rows.push(row(prefix, &entry));
        }
    }
}

/// The paths of at most `limit` notebooks, those of the upper folders first. A search that takes long ends with what it
/// has found.
pub(crate) async fn notebooks(link: &Link, prefix: &Prefix, limit: usize) -> Result<Vec<String>, Error> {
    let end = Instant::now() + LONGEST;
    let first = link.call(None, |server| folder(server, String::new())).await?;
    let mut found = Vec::new();
    let mut walk = Walk::new(link);
    let mut listed = Some((0, first));
    while let Some((depth, entries)) = listed {
        if !is_foreign(&entries) {
            for entry in entries.into_iter().filter(|entry| !is_hidden(&entry.name)) {
                match entry.kind {
                    EntryKind::Directory if depth < DEEPEST && !is_of_tools(&entry.name) => {
                        walk.enter(entry.path, depth + 1);
                    }
                    EntryKind::Notebook => found.push(prefix.shown(&entry.path)),
                    _ => {}
                }
            }
        }
        if found.len() >= limit || walk.entered > MOST_FOLDERS {
            break;
        }
        // A folder that cannot be read has no notebooks to show.
        listed = match timeout_at(end, walk.next()).await {
            Ok(Some((_, depth, entries))) => Some((depth, entries.unwrap_or_default())),
            Ok(None) | Err(_) => None,
        };
    }
    found.truncate(limit);
    found.sort();
    Ok(found)
}

/// Folders that are being listed, or wait for it.
struct Walk<'a> {
    link: &'a Link,
    waiting: std::collections::VecDeque<(String, usize)>,
    asked: FuturesUnordered<BoxFuture<'a, Listed>>,
    entered: usize,
}

type Listed = (String, usize, rest::Result<Vec<Entry>>);

impl<'a> Walk<'a> {
    fn new(link: &'a Link) -> Self {
        Self { link, waiting: std::collections::VecDeque::new(), asked: FuturesUnordered::new(), entered: 0 }
    }

    fn enter(&mut self, path: String, depth: usize) {
        self.entered += 1;
        self.waiting.push_back((path, depth));
    }

    async fn next(&mut self) -> Option<Listed> {
        while self.asked.len() < AT_ONCE
            && let Some((path, depth)) = self.waiting.pop_front()
        {
            let link = self.link;
            self.asked.push(Box::pin(async move {
                let listed = link.attempt(None, |server| folder(server, path.clone())).await;
                (path, depth, listed)
            }));
        }
        self.asked.next().await
    }
}

async fn folder(server: rest::Server, path: String) -> Result<Vec<Entry>, RestError> {
    let listed = server.contents(&path, Want::Listing).await?;
    Ok(listed.entries)
}

/// What Jupyter does not show either.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "__pycache__"
}

fn is_of_tools(name: &str) -> bool {
    name == "node_modules" || name == "site-packages"
}

/// Whether a folder with these entries is one that tools made: an environment, the output of a build.
fn is_foreign(entries: &[Entry]) -> bool {
    let marks = ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"];
    entries.iter().any(|entry| marks.contains(&entry.name.as_str()))
}

fn row(prefix: &Prefix, entry: &Entry) -> FileEntry {
    let kind = match entry.kind {
        EntryKind::Directory => FileKind::Directory,
        EntryKind::Notebook => FileKind::Notebook,
        EntryKind::File if is_notebook(&entry.path) => FileKind::Notebook,
        EntryKind::File => FileKind::File,
    };
    let size = entry.size.filter(|_| kind != FileKind::Directory);
    let modified = entry.last_modified.as_deref().and_then(time::parse);
    FileEntry { path: prefix.shown(&entry.path), kind, size, modified }
}

fn plain(path: String, kind: FileKind) -> FileEntry {
    FileEntry { path, kind, size: None, modified: None }
}
