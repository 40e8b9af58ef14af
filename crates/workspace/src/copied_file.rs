//! Counts what a copy of a file passes on, and checks that it is whole.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use place::{Error, ErrorKind, FileContent, NextStep, progress};
use sha2::{Digest as _, Sha256};

/// The number of bytes between two lines of progress.
const REPORTED: u64 = 16 << 20;

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

/// The content that has passed so far.
#[derive(Default)]
pub(crate) struct Passed {
    size: u64,
    hash: Sha256,
}

/// The same content, with a count of what has passed. Reports progress, and fails at the end if the content is not as
/// long as its size says.
pub(crate) fn counted(content: FileContent) -> (FileContent, Arc<Mutex<Passed>>) {
    let passed = Arc::new(Mutex::new(Passed::default()));
    let (counter, size, mode) = (passed.clone(), content.size, content.mode);
    let pieces = content.pieces.map(move |piece| {
        let piece = piece?;
        counter.lock().add(&piece, size);
        Ok(piece)
    });
    let counter = passed.clone();
    let end = stream::once(async move { counter.lock().check(size) });
    let end = end.filter_map(|checked| async move { checked.err().map(Err) });
    (FileContent { size, mode, pieces: pieces.chain(end).boxed() }, passed)
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
    use bytes::Bytes;

    use super::*;

    async fn passed(content: FileContent) -> (Result<Vec<Bytes>, Error>, CopiedFile) {
        let (content, passed) = counted(content);
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
