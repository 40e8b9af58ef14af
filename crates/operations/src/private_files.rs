//! Files to which several programs append lines, one after the other by a lock on a file of its own.

use std::fs::File;
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

/// Waits until nobody else has the lock.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let lock = state::open_lock(path)?;
    lock.lock()?;
    Ok(lock)
}
