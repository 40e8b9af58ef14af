//! The content of a file on its way from one place to another.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::{Error, ErrorKind, NextStep, progress};

/// How many bytes are copied between two lines of progress.
const REPORTED: u64 = 16 << 20;

/// A file's content, piece by piece, so that it is never in memory as a whole.
pub struct FileContent {
    /// The size in bytes, if it is known.
    pub size: Option<u64>,
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

/// A file after it was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path, with the prefix of the place.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

/// What has passed so far.
#[derive(Default)]
pub(crate) struct Passed {
    size: u64,
    hash: Sha256,
}

impl FileContent {
    /// Content that is in memory already.
    pub fn whole(bytes: Bytes) -> Self {
        let size = u64::try_from(bytes.len()).ok();
        Self { size, pieces: stream::iter([Ok(bytes)]).boxed() }
    }

    /// The same content, with a count of what has passed. Reports progress, and fails at the end if the content is not as
    /// long as its size says.
    pub(crate) fn counted(self) -> (Self, Arc<Mutex<Passed>>) {
        let passed = Arc::new(Mutex::new(Passed::default()));
        let (counter, size) = (passed.clone(), self.size);
        let pieces = self.pieces.map(move |piece| {
            let piece = piece?;
            counter.lock().add(&piece, size);
            Ok(piece)
        });
        let counter = passed.clone();
        let end = stream::once(async move { counter.lock().check(size) });
        let end = end.filter_map(|checked| async move { checked.err().map(Err) });
        (Self { size, pieces: pieces.chain(end).boxed() }, passed)
    }
}

impl Passed {
    fn add(&mut self, piece: &[u8], size: Option<u64>) {
        let before = self.size / REPORTED;
        self.size += piece.len() as u64;
        self.hash.update(piece);
        if self.size / REPORTED > before {
            let of = size.map(|size| format!(" of {}", megabytes(size))).unwrap_or_default();
            progress::report(format!("{}{of} copied", megabytes(self.size)));
        }
    }

    fn check(&self, size: Option<u64>) -> Result<(), Error> {
        match size {
            Some(size) if size != self.size => Err(Error::new(
                ErrorKind::RemoteFailure,
                format!(
                    "The file has {} bytes instead of {size}; it may have changed during the copy.",
                    self.size
                ),
                NextStep::TryAgain,
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn copied(&self, path: String) -> CopiedFile {
        CopiedFile { path, size: self.size, sha256: const_hex::encode(self.hash.clone().finalize()) }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(content: FileContent) -> (Result<Vec<Bytes>, Error>, CopiedFile) {
        let (content, passed) = content.counted();
        let pieces: Vec<_> = content.pieces.collect().await;
        let copied = passed.lock().copied("x".to_owned());
        (pieces.into_iter().collect(), copied)
    }

    #[tokio::test]
    async fn what_passes_is_counted_and_hashed() {
        let (pieces, copied) = passed(FileContent::whole(Bytes::from_static(b"abc"))).await;
        assert_eq!(pieces.unwrap(), ["abc"]);
        // The test vector of FIPS 180-2.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(copied, CopiedFile { path: "x".to_owned(), size: 3, sha256: sha256.to_owned() });
    }

    #[tokio::test]
    async fn content_that_is_too_short_or_too_long_fails_at_its_end() {
        for size in [2, 4] {
            let content = FileContent { size: Some(size), ..FileContent::whole(Bytes::from_static(b"abc")) };
            let error = passed(content).await.0.unwrap_err();
            assert!(error.cause.contains(&format!("3 bytes instead of {size}")), "{error}");
        }
        let content = FileContent { size: None, ..FileContent::whole(Bytes::from_static(b"abc")) };
        assert!(passed(content).await.0.is_ok());
    }
}
