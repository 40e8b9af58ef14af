//! Contents of cells, named by their digest.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The number of bytes of the digest that name a content.
const LENGTH: usize = 16;

/// The name of a content: the first half of its SHA-256 as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    pub fn of(content: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(content))
    }

    fn from_hash(hash: Sha256) -> Self {
        Self(const_hex::encode(&hash.finalize()[..LENGTH]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can be the name of a file: a log may have been damaged.
    pub(crate) fn is_valid(&self) -> bool {
        self.0.len() == 2 * LENGTH && self.0.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// Finds the name of a content that is written into it, and keeps the content unless it is too long.
pub(crate) struct Naming {
    hash: Sha256,
    content: Option<Vec<u8>>,
    max: usize,
}

impl Naming {
    /// Keeps a content of at most `max` bytes.
    pub(crate) fn up_to(max: usize) -> Self {
        Self { hash: Sha256::new(), content: Some(Vec::new()), max }
    }

    pub(crate) fn finish(self) -> (BlobId, Option<Bytes>) {
        (BlobId::from_hash(self.hash), self.content.map(Bytes::from))
    }
}

impl io::Write for Naming {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.hash.update(part);
        self.content = self.content.take().filter(|content| content.len() + part.len() <= self.max);
        if let Some(content) = &mut self.content {
            content.extend_from_slice(part);
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Contents by name.
#[derive(Debug, Clone, Default)]
pub struct Blobs(BTreeMap<BlobId, Bytes>);

impl Blobs {
    /// Adds a content and returns its name.
    pub fn add(&mut self, content: &Bytes) -> BlobId {
        let id = BlobId::of(content);
        self.insert(id.clone(), content.clone());
        id
    }

    pub(crate) fn insert(&mut self, id: BlobId, content: Bytes) {
        self.0.entry(id).or_insert(content);
    }

    pub fn get(&self, id: &BlobId) -> Option<Bytes> {
        self.0.get(id).cloned()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&BlobId, &Bytes)> {
        self.0.iter()
    }

    #[cfg(test)]
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_content_in_parts_has_the_name_of_the_whole_and_is_kept_up_to_a_limit() {
        let named = |max| {
            let mut naming = Naming::up_to(max);
            naming.write_all(b"one ").unwrap();
            naming.write_all(b"two").unwrap();
            naming.finish()
        };
        assert_eq!(named(7), (BlobId::of(b"one two"), Some(Bytes::from_static(b"one two"))));
        assert_eq!(named(6), (BlobId::of(b"one two"), None));
    }
}
