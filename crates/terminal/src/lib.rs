//! The only way to the person's terminal.
//!
//! What is shown comes from notebooks, file names, kernels and configurations of others. Characters in it that would move the
//! cursor, hide text or change its direction are written as escapes; colours are added afterwards. `cargo xtask tidy` checks
//! that no other module writes to standard output or standard error.

mod json;
mod painted;
mod progress;

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use notebook::{one_line, visible};
use serde::Serialize;

pub use painted::Painted;
pub use progress::Progress;

/// Prints lines on standard output, if there are any.
pub fn say(text: &str) -> anyhow::Result<()> {
    if text.is_empty() { Ok(()) } else { print(&format!("{}\n", visible(text))) }
}

/// Prints a JSON value for a script, which a person may look at, too.
pub fn say_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&format!("{}\n", json::visible_json(&serde_json::to_string_pretty(value)?)))
}

/// Prints lines that may contain our colours.
pub fn say_painted(lines: &Painted) -> anyhow::Result<()> {
    print(&format!("{}\n", lines.as_str()))
}

/// Writes a document as it is on standard output, for another program or a file. It has no control characters: whoever made it has
/// replaced them.
pub fn write_document(document: &str) -> anyhow::Result<()> {
    print(document)
}

fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        // Whoever reads has seen enough, such as `head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints lines on standard error, where messages go that are no result.
pub fn note(text: &str) {
    // A failure cannot be reported to anybody.
    let _ = writeln!(io::stderr(), "{}", visible(text));
}

/// Standard output for a text in pieces.
pub fn output() -> impl Write {
    Visible(io::stdout())
}

/// Standard error for the log.
pub fn errors() -> impl Write + Send {
    Visible(io::stderr())
}

/// Whether a person reads what is said.
pub fn is_read_by_person() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person reads the notes.
pub fn are_notes_read_by_person() -> bool {
    io::stderr().is_terminal()
}

/// A path on one line, whatever its name contains.
pub fn path(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

/// Passes on a text in pieces, each of which is valid UTF-8, as the macros of `std` write them.
struct Visible<W>(W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_text_are_made_visible() {
        let mut out = Vec::new();
        let name = "a\u{1b}[2Kb\r";
        write!(Visible(&mut out), "{name}|\u{202e}\n\té").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[2Kb\\u{d}|\\u{202e}\n\té");
    }

    #[test]
    fn a_path_is_one_line() {
        assert_eq!(path(Path::new("a\nb\t\u{7}.ipynb")), "a\\nb\\t\\u{7}.ipynb");
    }
}
