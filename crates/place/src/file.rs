//! The content of a file on its way from one place to another.

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};

use crate::Error;

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
