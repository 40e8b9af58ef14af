//! Contents of cells, named by their digest.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many bytes of the digest name a content.
const LENGTH: usize = 16;

/// The name of a content: the first half of its SHA-256 as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    pub fn of(content: &[u8]) -> Self {
        Self(const_hex::encode(&Sha256::digest(content)[..LENGTH]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can be the name of a file: a log may have been damaged.
    pub(crate) fn is_valid(&self) -> bool {
        self.0.len() == 2 * LENGTH && self.0.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// Contents by name.
#[derive(Debug, Clone, Default)]
pub struct Blobs(BTreeMap<BlobId, Bytes>);

impl Blobs {
    /// Adds a content and returns its name.
    pub(crate) fn add(&mut self, content: &Bytes) -> BlobId {
        let id = BlobId::of(content);
        self.0.entry(id.clone()).or_insert_with(|| content.clone());
        id
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
