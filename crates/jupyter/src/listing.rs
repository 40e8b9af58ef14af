//! Lists a server's folders.

mod notebook_search;
mod walk;

use std::time::SystemTime;

use chrono::DateTime;
use place::{Error, ErrorKind, FileEntry, FileKind, NextStep};
use rest::{Entry, EntryKind, Kind, RestError};

use crate::failure;
use crate::paths::{Prefix, is_notebook};
use crate::server_handle::ServerHandle;
use walk::{Listed, Walk, folder};

pub(crate) use notebook_search::NotebookSearch;

const MAX_ROWS: usize = 20_000;

/// The rows below the folder `path`, sorted. Folders of one level are listed side by side.
pub(crate) async fn list(
    handle: &ServerHandle,
    prefix: &Prefix,
    path: &str,
    max_depth: usize,
) -> Result<Vec<FileEntry>, Error> {
    let root = prefix.strip(path)?;
    let first = folder(handle, &root).await.map_err(|error| not_listed(path, handle, error))?;
    let mut walk = Walk::new(handle, max_depth);
    let mut rows: Vec<_> = walk.enter(first, 0).iter().map(|entry| row(prefix, entry)).collect();
    while let Some(Listed { path, entries, .. }) = walk.next().await {
        match entries {
            Ok(entries) => rows.extend(entries.iter().map(|entry| row(prefix, entry))),
            Err(error) => {
                rows.retain(|row: &FileEntry| row.path != prefix.shown(&path));
                rows.push(plain(prefix.shown(&path), FileKind::Unreadable(error.cause)));
            }
        }
        if rows.len() > MAX_ROWS {
            break;
        }
    }
    rows.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    if rows.len() > MAX_ROWS {
        rows.truncate(MAX_ROWS);
        rows.push(plain(prefix.shown(&root), FileKind::Truncated(MAX_ROWS)));
    }
    Ok(rows)
}

/// The paths of the notebooks in a folder; none if it cannot be listed.
pub(crate) async fn notebooks_in(handle: &ServerHandle, path: &str) -> Vec<String> {
    let entries = folder(handle, path).await.unwrap_or_default();
    let paths =
        entries.into_iter().filter(|entry| entry.kind != EntryKind::Directory).map(|entry| entry.path);
    paths.filter(|path| is_notebook(path)).collect()
}

fn not_listed(path: &str, handle: &ServerHandle, error: RestError) -> Error {
    let what = match error.kind {
        Kind::NotFound => "There is no folder",
        Kind::Refused => "There is a file, not a folder,",
        _ => return failure::of(error),
    };
    Error::new(ErrorKind::NotFound, format!("{what} {path:?} on {}.", handle.title()), NextStep::ListFiles)
}

fn row(prefix: &Prefix, entry: &Entry) -> FileEntry {
    let kind = match entry.kind {
        EntryKind::Directory => FileKind::Directory,
        EntryKind::Notebook => FileKind::Notebook,
        EntryKind::File if is_notebook(&entry.path) => FileKind::Notebook,
        EntryKind::File => FileKind::File,
    };
    let size = entry.size.filter(|_| kind != FileKind::Directory);
    let modified = entry.last_modified.as_deref().and_then(|time| DateTime::parse_from_rfc3339(time).ok());
    FileEntry { path: prefix.shown(&entry.path), kind, size, modified: modified.map(SystemTime::from) }
}

fn plain(path: String, kind: FileKind) -> FileEntry {
    FileEntry { path, kind, size: None, modified: None }
}
