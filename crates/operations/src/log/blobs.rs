//! The contents beside a log: a compressed file for each, named by its digest.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::{BlobId, Blobs};

const FOLDER: &str = "contents";
/// More than this is not decompressed, in bytes. No content that is kept is as large.
const MAX_CONTENT: u64 = 64 * 1024 * 1024;
/// Contents from this size on are compressed faster, and less.
const LARGE: usize = 64 * 1024;

thread_local! {
    /// It has 200 kB of state. Creating that for each cell would take longer than the rest of a record.
    static ENCODER: RefCell<DeflateEncoder<Vec<u8>>> =
        RefCell::new(DeflateEncoder::new(Vec::new(), Compression::default()));
}

/// Writes the contents that are not there yet, or damaged: a power cut may leave a file empty. Returns how many bytes that took.
pub(super) fn write(log: &Path, blobs: &Blobs) -> io::Result<u64> {
    let folder = log.join(FOLDER);
    let mut written = 0;
    for (id, content) in blobs.iter() {
        let path = folder.join(id.as_str());
        if read(log, id).is_some() {
            continue;
        }
        state::create_folder(&folder)?;
        let compressed = if content.len() < LARGE {
            ENCODER.with_borrow_mut(|encoder| {
                encoder.reset(Vec::new())?;
                encoder.write_all(content)?;
                encoder.reset(Vec::new())
            })?
        } else {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content)?;
            encoder.finish()?
        };
        // The log's lock keeps others from the same name.
        state::replace_unsynced(&path, &compressed)?;
        written += compressed.len() as u64;
    }
    Ok(written)
}

/// Reads a content. `None` if it is gone or damaged.
pub(super) fn read(log: &Path, id: &BlobId) -> Option<Bytes> {
    if !id.is_valid() {
        return None;
    }
    let file = fs::File::open(log.join(FOLDER).join(id.as_str())).ok()?;
    let mut content = Vec::new();
    DeflateDecoder::new(file).take(MAX_CONTENT).read_to_end(&mut content).ok()?;
    (BlobId::of(&content) == *id).then(|| content.into())
}

/// The sizes of the contents, by name.
pub(super) fn sizes(log: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(log.join(FOLDER)).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?.len())))
        .collect()
}

/// The size of all contents, in bytes.
pub(super) fn size(log: &Path) -> u64 {
    sizes(log).iter().map(|(_, size)| size).sum()
}

/// Removes a content.
pub(super) fn remove(log: &Path, name: &str) {
    // A file that stays is removed another time.
    let _ = fs::remove_file(log.join(FOLDER).join(name));
}
