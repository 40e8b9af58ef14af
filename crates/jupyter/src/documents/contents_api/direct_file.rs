//! Reads the file itself if we live in the process of the server that keeps it on its disk.
//!
//! The server is still asked whether its user may read it, but not for the content: Jupyter Server parses and validates a
//! notebook, and hashes a file, on the thread that serves all requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use notebook::Notebook;
use place::{Content, Error};
use rest::ContentsQuery;
use sha2::{Digest as _, Sha256};

use super::{ContentsStore, Version};

/// A server writes a file in place, so it may contain half a notebook for a moment.
const MAX_ATTEMPTS: u32 = 20;
const RETRY_PAUSE: Duration = Duration::from_millis(50);

impl ContentsStore {
    /// The file, if it can be read directly.
    pub(super) async fn file(&self) -> Option<&Path> {
        let in_process = self.handle.in_process.as_ref()?;
        self.file.get_or_init(|| in_process.file(&self.path)).await.as_deref()
    }

    pub(super) async fn read_notebook_file(
        &self,
        file: &Path,
        is_known: impl Fn(&Version) -> bool,
    ) -> Result<Content<Version>, Error> {
        let mut attempts = 0;
        loop {
            let (version, content) = self.read_file(file).await?;
            if is_known(&version) {
                return Ok(Content::Unchanged { version });
            }
            attempts += 1;
            match Notebook::parse(content) {
                Ok(notebook) => return Ok(Content::Changed { notebook, version }),
                Err(error) if attempts == MAX_ATTEMPTS => {
                    return Err(Error::unreadable_notebook(&self.path, error));
                }
                Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    /// Reads the file, if the server permits its user to.
    pub(super) async fn read_file(&self, file: &Path) -> Result<(Version, Bytes), Error> {
        let entry = self.request(ContentsQuery::Attributes).await?;
        let file = PathBuf::from(file);
        let read = tokio::task::spawn_blocking(move || {
            let content = std::fs::read(file)?;
            let hash = Sha256::digest(&content);
            Ok::<_, std::io::Error>((hash, content))
        });
        let read = read.await.map_err(Error::notebook_task_failed)?;
        let (hash, content) = read.map_err(|error| Error::unreadable_notebook(&self.path, error))?;
        let size = u64::try_from(content.len()).ok();
        Ok((
            Version { hash: Some(const_hex::encode(hash)), modified: entry.last_modified, size },
            content.into(),
        ))
    }
}

#[cfg(test)]
mod tests;
