//! Files for this user alone, to which several programs append lines, one after the other by a lock on a file of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::Serialize;

/// Writes a line in one piece, after a line break if the line before was torn.
pub(crate) fn write_line(file: &mut File, value: &impl Serialize, is_torn: bool) -> io::Result<()> {
    let mut line = if is_torn { vec![b'\n'] } else { Vec::new() };
    serde_json::to_writer(&mut line, value)?;
    line.push(b'\n');
    file.write_all(&line)
}

pub(crate) fn ends_with_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The lines of a text but the last one, if somebody may still be writing it.
pub(crate) fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

/// A folder for this user alone.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Files that are created are for this user alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Waits until nobody else has the lock.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let lock = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Replaces a file, so that it is whole or as it was. The temporary file must be in the same folder.
pub(crate) fn replace(path: &Path, temporary: &Path, content: &[u8]) -> io::Result<()> {
    private(OpenOptions::new().write(true).create(true).truncate(true))
        .open(temporary)?
        .write_all(content)?;
    fs::rename(temporary, path)
}
