//! The content of a file on its way from one place to another.

use std::future::ready;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};

use crate::{Error, Future};

/// A file's content, piece by piece, so that it is never in memory as a whole.
pub struct FileContent {
    /// The size in bytes, if it is known.
    pub size: Option<u64>,
    /// The permission bits of the file that it is from, if it has any: a copy is not more readable.
    pub mode: Option<u32>,
    pub pieces: BoxStream<'static, Result<Bytes, Error>>,
}

/// What happens to a file that exists where another is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing fails.
    Keep,
    /// It is replaced, unless it is a folder or a notebook: people may have a notebook open.
    Replace,
}

impl FileContent {
    /// Content that is in memory already.
    pub fn whole(bytes: Bytes) -> Self {
        let size = u64::try_from(bytes.len()).ok();
        Self { size, mode: None, pieces: stream::iter([Ok(bytes)]).boxed() }
    }
}

/// Files of any kind, notebooks that nobody has opened included.
pub trait Files: Send + Sync {
    fn read(&self, path: &str) -> Future<'_, FileContent>;

    /// Writes all of a file or nothing; folders above it are created where the place can do so. Returns its path, with
    /// the prefix.
    fn write(&self, path: &str, content: FileContent, existing: Existing) -> Future<'_, String>;

    /// Fails as [`Files::write`] would, as far as that can be known without writing. Returns the path, with the prefix, and
    /// whether there is a file.
    fn check_write(&self, path: &str, existing: Existing) -> Future<'_, (String, bool)>;

    /// Whether a file may be executed as a program, as far as the place knows.
    fn is_program(&self, _path: &str) -> Future<'_, bool> {
        Box::pin(ready(Ok(false)))
    }

    /// The permission bits of a file, if the place knows them.
    fn mode_of(&self, _path: &str) -> Future<'_, Option<u32>> {
        Box::pin(ready(Ok(None)))
    }
}
