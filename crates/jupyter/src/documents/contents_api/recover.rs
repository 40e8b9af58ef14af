//! Recovers from a write that failed.
//!
//! Jupyter Server overwrites the file itself. If the disk is full, the file is left truncated, with a copy of the previous
//! content next to it (`.~x.ipynb`), which the contents API does not show (`atomic_writing` of
//! `jupyter_server/services/contents/fileio.py`).

use notebook::{Edit, Notebook};
use place::{CachedVersion, Error};
use rest::{ContentsQuery, Entry, Kind, RestError};

use super::{ContentsStore, Version, text};
use crate::failure;

/// The content of the file.
pub(super) struct Found {
    pub(super) notebook: Notebook,
    pub(super) version: Version,
}

impl ContentsStore {
    /// Reads the file after writing `wanted` failed, and restores the content `before` if the file is truncated. Returns what was
    /// written after all.
    pub(super) async fn recover(
        &self,
        error: RestError,
        before: &CachedVersion<Version>,
        wanted: &Notebook,
        edits: &[Edit],
    ) -> Result<Found, Error> {
        let may_be_written = matches!(
            error.kind,
            Kind::Server | Kind::NotFound | Kind::Unreachable | Kind::Timeout | Kind::Malformed
        );
        if !may_be_written {
            return Err(failure::of(error));
        }
        let found = self.found().await.map(|mut found| {
            // The file may contain no ids.
            found.notebook.carry_ids(wanted);
            found
        });
        let is_written = |found: &Notebook| {
            found.cells().len() == wanted.cells().len() && edits.iter().all(|edit| edit.is_applied(found))
        };
        let outcome = match found {
            Ok(found) if found.version.is_same(&before.version) => "The notebook on disk is unchanged.",
            Ok(found) if is_written(&found.notebook) => return Ok(found),
            Ok(_) => "Somebody else has replaced the notebook on disk.",
            Err(Unread::Unreadable) => match self.restore(&before.notebook).await {
                Ok(()) => {
                    "Only a part of it was written; the previous content was restored and is on disk now."
                }
                Err(problem) => {
                    tracing::warn!(path = self.path, %problem, "failed to restore a notebook");
                    "A BROKEN PART of it is on disk now, and the previous content could not be restored; the server \
                     has a copy in the same folder, named .~ followed by the file's name."
                }
            },
            Err(Unread::Unknown) => "The content on disk is now unknown.",
        };
        let error = failure::of(error);
        Err(Error { cause: format!("{} {outcome}", error.cause), ..error })
    }

    async fn found(&self) -> Result<Found, Unread> {
        let server = self.handle.server().await.map_err(|_| Unread::Unknown)?;
        match server.contents(&self.path, ContentsQuery::Notebook).await {
            Ok(entry) => parse(entry).ok_or(Unread::Unreadable),
            // Status 400, "Unreadable Notebook". A server that has a copy restores it itself at this request.
            Err(error) if error.kind == Kind::Refused => Err(Unread::Unreadable),
            Err(_) => Err(Unread::Unknown),
        }
    }

    /// Overwrites a broken notebook, and reads it back.
    async fn restore(&self, before: &Notebook) -> Result<(), Error> {
        self.write(text(before)?).await.map_err(failure::of)?;
        match self.found().await {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::unreadable_notebook(&self.path, "it is still broken")),
        }
    }
}

enum Unread {
    /// The file contains no notebook.
    Unreadable,
    /// The server did not answer.
    Unknown,
}

fn parse(entry: Entry) -> Option<Found> {
    let version = Version::of(&entry);
    Some(Found { notebook: Notebook::parse(entry.content?).ok()?, version })
}
