//! Reads the file itself where the server that we live in keeps it on its disk.
//!
//! The server is still asked, so that its rules hold, but not for the content: Jupyter Server parses and validates a
//! notebook, and hashes a file, on the thread that answers everybody.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use notebook::Notebook;
use rest::Want;
use sha2::{Digest as _, Sha256};
use workspace::Error;

use super::{ContentsDocument, Version};
use crate::failure;

/// A server writes a file in place: half of it may be there for a moment.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

impl ContentsDocument {
    /// The file, if it can be read without the server.
    pub(super) async fn file(&self) -> Option<&Path> {
        let in_process = self.handle.in_process.as_ref()?;
        self.file.get_or_init(|| in_process.file(&self.path)).await.as_deref()
    }

    /// The notebook in the file; `None` if it is known.
    pub(super) async fn newer_beside(
        &self,
        file: &Path,
        is_known: impl Fn(&Version) -> bool,
    ) -> Result<Option<(Version, Notebook)>, Error> {
        let mut looks = 0;
        loop {
            let (version, content) = self.read_beside(file).await?;
            if is_known(&version) {
                return Ok(None);
            }
            looks += 1;
            match Notebook::parse(content) {
                Ok(notebook) => return Ok(Some((version, notebook))),
                Err(error) if looks == LOOKS => return Err(failure::unreadable(&self.path, &error)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The file as it is, if the server lets its user see it.
    pub(super) async fn read_beside(&self, file: &Path) -> Result<(Version, Bytes), Error> {
        let entry = self.ask(Want::Glance).await?;
        let file = PathBuf::from(file);
        let read = tokio::task::spawn_blocking(move || {
            let content = std::fs::read(file)?;
            let hash = Sha256::digest(&content);
            Ok::<_, std::io::Error>((hash, content))
        });
        let read = read.await.map_err(|error| failure::ours(&error))?;
        let (hash, content) = read.map_err(|error| failure::unreadable(&self.path, &error))?;
        let mut hex = String::with_capacity(64);
        for byte in hash {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        let size = u64::try_from(content.len()).ok();
        Ok((Version { hash: Some(hex), modified: entry.last_modified, size }, content.into()))
    }
}

#[cfg(test)]
mod tests;
