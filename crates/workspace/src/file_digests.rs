//! The digests of files, which are read again only if they have changed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Longer files are not read, in bytes.
const MAX_LENGTH: u64 = 4 * 1024 * 1024;
/// So many files are remembered.
const MAX_FILES: usize = 4096;
/// A file that was written within this time may be written again without another time of its change.
const FRESH: Duration = Duration::from_secs(2);

type Stat = (SystemTime, u64);

#[derive(Default)]
pub(crate) struct FileDigests(Mutex<HashMap<PathBuf, (Stat, u64)>>);

impl FileDigests {
    /// As `memory/handler/modules.py` of the crate `kernel` finds it: the first half of the first half of the SHA-256. 0 if there is no
    /// file; `None` if it cannot be read.
    pub(crate) fn digest(&self, path: &Path) -> Option<u64> {
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Some(0),
            metadata => metadata.ok()?,
        };
        let stat = (metadata.modified().ok()?, metadata.len());
        if let Some((_, digest)) = self.0.lock().get(path).filter(|(before, _)| *before == stat) {
            return Some(*digest);
        }
        if !metadata.is_file() || stat.1 > MAX_LENGTH {
            return None;
        }
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(MAX_LENGTH).read_to_end(&mut text)).ok()?;
        let digest = Sha256::digest(&text)[..8].iter().fold(0, |digest, byte| digest << 8 | u64::from(*byte));
        if SystemTime::now().duration_since(stat.0).is_ok_and(|age| age > FRESH) {
            let mut all = self.0.lock();
            if all.len() >= MAX_FILES {
                all.clear();
            }
            all.insert(path.to_owned(), (stat, digest));
        }
        Some(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_once_it_has_changed() {
        let (folder, files) = (tempfile::tempdir().unwrap(), FileDigests::default());
        let path = folder.path().join("m.py");
        assert_eq!(files.digest(&path), Some(0));
        let write = |text: &str, time: u64| {
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(time)).unwrap();
        };
        write("a", 1);
        assert_eq!(files.digest(&path), Some(0xca97_8112_ca1b_bdca), "as `hashlib.sha256` gives it");
        write("b", 1);
        assert_eq!(files.digest(&path), Some(0xca97_8112_ca1b_bdca), "it was not read again");
        write("b", 2);
        assert_ne!(files.digest(&path), Some(0xca97_8112_ca1b_bdca));
        assert_eq!(files.digest(folder.path()), None);
    }
}
