//! Archives whose bytes depend on their content alone: entries in order, and one time for all.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// 1980-01-01, the earliest time that a zip file can hold.
const TIME: u64 = 315_532_800;
/// Levels of compression, as `zip` counts them.
const BEST_OF_ZLIB: i64 = 9;
const ONE_ROUND_OF_ZOPFLI: i64 = 10;

/// A file in an archive.
pub(super) struct Entry {
    path: String,
    mode: u32,
    content: Vec<u8>,
}

impl Entry {
    /// A file of the machine, as `path` in the archive.
    pub(super) fn from_file(file: &Path, path: &str, mode: u32) -> Result<Self> {
        let content = std::fs::read(file).with_context(|| format!("{} can't be read", file.display()))?;
        Ok(Self::new(path, mode, content))
    }

    pub(super) fn new(path: &str, mode: u32, content: Vec<u8>) -> Self {
        Self { path: path.to_owned(), mode, content }
    }
}

/// Writes a `.tar.gz`.
pub(super) fn write_tar_gz(file: &Path, entries: &mut [Entry]) -> Result<()> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let gzip = GzBuilder::new().mtime(0).write(create(file)?, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for Entry { path, mode, content } in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(*mode);
        header.set_mtime(TIME);
        tar.append_data(&mut header, path, content.as_slice())?;
    }
    tar.into_inner()?.finish()?.flush()?;
    Ok(())
}

/// Writes a zip file.
pub(super) fn write_zip(file: &Path, entries: &mut [Entry]) -> Result<()> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    write_entries(file, entries, BEST_OF_ZLIB)
}

/// Writes a zip file again, with the same entries in the same order, some percent smaller. It takes a second for a megabyte.
pub(super) fn recompress(file: &Path) -> Result<()> {
    let mut zip = ZipArchive::new(File::open(file)?)?;
    let mut entries = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        entries.push(Entry::new(entry.name(), entry.unix_mode().unwrap_or(0o644), content));
    }
    let smaller = file.with_added_extension("new");
    write_entries(&smaller, &entries, ONE_ROUND_OF_ZOPFLI)?;
    std::fs::rename(&smaller, file).with_context(|| format!("{} can't be replaced", file.display()))
}

fn write_entries(file: &Path, entries: &[Entry], level: i64) -> Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(level))
        .with_zopfli_buffer(None)
        .last_modified_time(DateTime::default());
    let mut zip = ZipWriter::new(create(file)?);
    for Entry { path, mode, content } in entries {
        zip.start_file(path.as_str(), options.unix_permissions(*mode))?;
        zip.write_all(content)?;
    }
    zip.finish()?.flush()?;
    Ok(())
}

/// The SHA-256 checksum of a file, in hexadecimal.
pub(super) fn checksum(file: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    let mut opened = File::open(file).with_context(|| format!("{} can't be read", file.display()))?;
    let mut block = vec![0; 1 << 16];
    loop {
        match io::Read::read(&mut opened, &mut block)? {
            0 => return Ok(const_hex::encode(digest.finalize())),
            length => digest.update(&block[..length]),
        }
    }
}

fn create(file: &Path) -> Result<File> {
    File::create(file).with_context(|| format!("{} can't be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(turned: bool) -> Vec<Entry> {
        let mut entries = vec![
            Entry::new("bin/x", 0o755, b"program".to_vec()),
            Entry::new("a.txt", 0o644, b"text".to_vec()),
        ];
        if turned {
            entries.reverse();
        }
        entries
    }

    #[test]
    fn the_same_content_gives_the_same_bytes() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, turned| -> Result<(String, String)> {
            let (tar, zip) = (folder.path().join(format!("{name}.tar.gz")), folder.path().join(name));
            write_tar_gz(&tar, &mut entries(turned))?;
            write_zip(&zip, &mut entries(turned))?;
            Ok((checksum(&tar)?, checksum(&zip)?))
        };
        assert_eq!(write("one", false)?, write("other", true)?);
        Ok(())
    }

    #[test]
    fn what_is_compressed_again_is_smaller_and_the_same() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("x");
        let numbers: Vec<String> = (0..3_000).map(|number| (number * number % 977).to_string()).collect();
        let text = numbers.join(" ");
        let entries = [Entry::new("z", 0o755, text.clone().into_bytes()), Entry::new("a", 0o644, Vec::new())];
        write_entries(&file, &entries, BEST_OF_ZLIB)?;
        let before = std::fs::metadata(&file)?.len();
        recompress(&file)?;
        assert!(std::fs::metadata(&file)?.len() < before);
        let mut zip = ZipArchive::new(File::open(&file)?)?;
        assert_eq!(zip.file_names().collect::<Vec<_>>(), ["z", "a"]);
        let mut entry = zip.by_name("z")?;
        assert_eq!(entry.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut content = String::new();
        entry.read_to_string(&mut content)?;
        assert_eq!(content, text);
        Ok(())
    }

    #[test]
    fn content_and_modes_are_kept() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("x");
        write_zip(&file, &mut entries(false))?;
        let mut zip = ZipArchive::new(File::open(&file)?)?;
        let mut program = zip.by_name("bin/x")?;
        assert_eq!(program.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut content = String::new();
        program.read_to_string(&mut content)?;
        assert_eq!(content, "program");

        write_tar_gz(&file, &mut entries(false))?;
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(File::open(&file)?));
        let modes: Result<Vec<_>, io::Error> = tar
            .entries()?
            .map(|entry| {
                let entry = entry?;
                Ok((entry.path()?.display().to_string(), entry.header().mode()?))
            })
            .collect();
        assert_eq!(modes?, [("a.txt".to_owned(), 0o644), ("bin/x".to_owned(), 0o755)]);
        Ok(())
    }

    #[test]
    fn the_checksum_is_that_of_sha256sum() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("x");
        std::fs::write(&file, "abc")?;
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(&file)?, expected);
        Ok(())
    }
}
