//! After a write that failed: what is in the file now.
//!
//! Jupyter Server writes over the file itself. With a full disk a part of it is left, and a copy of what was there before
//! beside it (`.~x.ipynb`), of which the contents API shows nothing (`atomic_writing` of
//! `jupyter_server/services/contents/fileio.py`).

use notebook::{Edit, Notebook};
use rest::{Entry, Kind, RestError, Want};
use workspace::Error;

use super::{ContentsDocument, Known, Version, text};
use crate::failure;

/// What a write left behind.
pub(super) enum Left {
    /// It was made all the same.
    Written(Known),
    /// It was not made.
    NotWritten(Error),
}

impl ContentsDocument {
    /// Looks at the file after the writing of `wanted` failed, and puts back what was there `before` if only a part of the
    /// new content is.
    pub(super) async fn after(
        &self,
        error: RestError,
        before: &Known,
        wanted: &Notebook,
        edits: &[Edit],
    ) -> Left {
        let is_in_doubt = matches!(
            error.kind,
            Kind::Server | Kind::NotFound | Kind::Unreachable | Kind::Timeout | Kind::Malformed
        );
        if !is_in_doubt {
            return Left::NotWritten(failure::of(error));
        }
        let found = self.found().await.map(|mut found| {
            // A file may hold no ids.
            found.notebook.carry_ids(wanted);
            found
        });
        let is_made = |found: &Notebook| {
            found.cells().len() == wanted.cells().len() && edits.iter().all(|edit| edit.is_applied(found))
        };
        let told = match found {
            Ok(found) if found.version.is_same(&before.version) => {
                "The notebook on disk is what it was before."
            }
            Ok(found) if is_made(&found.notebook) => return Left::Written(found),
            Ok(_) => "The notebook on disk is what somebody else wrote meanwhile.",
            Err(Unread::Unreadable) => match self.put_back(&before.notebook).await {
                Ok(()) => {
                    "Only a part of it was written; what was there before was put back and is on disk now."
                }
                Err(problem) => {
                    tracing::warn!(path = self.path, %problem, "a notebook could not be put back");
                    "A BROKEN PART of it is on disk now, and what was there before could not be put back; the server \
                     has a copy of that beside it, named .~ and the file's name."
                }
            },
            Err(Unread::Unknown) => "What is on disk now could not be seen.",
        };
        let error = failure::of(error);
        Left::NotWritten(Error { cause: format!("{} {told}", error.cause), ..error })
    }

    async fn found(&self) -> Result<Known, Unread> {
        let server = self.handle.server().await.map_err(|_| Unread::Unknown)?;
        match server.contents(&self.path, Want::Notebook).await {
            Ok(entry) => known(entry).ok_or(Unread::Unreadable),
            // Status 400, "Unreadable Notebook". A server that has its copy puts that back by itself now.
            Err(error) if error.kind == Kind::Refused => Err(Unread::Unreadable),
            Err(_) => Err(Unread::Unknown),
        }
    }

    /// Writes a notebook over a broken one, and sees that it is there.
    async fn put_back(&self, before: &Notebook) -> Result<(), Error> {
        self.write(text(before)?).await.map_err(failure::of)?;
        match self.found().await {
            Ok(_) => Ok(()),
            Err(_) => Err(failure::unreadable(&self.path, &"it is still broken")),
        }
    }
}

enum Unread {
    /// What is in the file is no notebook.
    Unreadable,
    /// The server does not tell.
    Unknown,
}

fn known(entry: Entry) -> Option<Known> {
    let version = Version::of(&entry);
    Some(Known { notebook: Notebook::parse(entry.content?).ok()?, version })
}
