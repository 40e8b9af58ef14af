//! `cellbridge kernels logs`: what a kernel printed and what happened to it, from its keeper's log.

use std::io::{self, Write};

use chrono::{DateTime, Local, Utc};
use keeper::{KeptKernel, LogEntry, LogEntryKind};
use serde_json::json;

use crate::args::LogsOfKernel;
use terminal::output;

pub(super) fn show(kernel: &KeptKernel, options: &LogsOfKernel) -> anyhow::Result<()> {
    let mut out = output();
    let shown = if options.json {
        kernel.read_log(|entry| writeln!(out, "{}", to_json(&entry)))
    } else {
        let mut lines = Lines::new(&mut out);
        kernel.read_log(|entry| lines.write(&entry)).and_then(|()| lines.end())
    };
    match shown {
        // Whoever reads has enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        shown => Ok(shown?),
    }
}

fn to_json(entry: &LogEntry) -> serde_json::Value {
    json!({
        "time": DateTime::<Utc>::from(entry.at).to_rfc3339(),
        "run": entry.run,
        "cell": entry.cell,
        "kind": entry.kind,
        "text": entry.text,
    })
}

/// Writes entries as lines with the time and the run. Pieces of one line are put together.
struct Lines<W> {
    out: W,
    /// The line of a stream that has not ended yet.
    open: Option<LogEntry>,
}

impl<W: Write> Lines<W> {
    fn new(out: W) -> Self {
        Self { out, open: None }
    }

    fn write(&mut self, entry: &LogEntry) -> io::Result<()> {
        let is_stream = matches!(entry.kind, LogEntryKind::Stdout | LogEntryKind::Stderr);
        let begun = self.open.take_if(|open| is_stream && open.run == entry.run && open.kind == entry.kind);
        // A reply can reach the keeper before the last outputs, which come over another socket.
        if entry.kind != LogEntryKind::Event || entry.run.is_none() {
            self.end()?;
        }
        if !is_stream {
            let about = entry.cell.as_ref().filter(|_| entry.kind == LogEntryKind::Event);
            let about = about.map(|cell| format!("cell {cell} ")).unwrap_or_default();
            let text = format!("{about}{}", entry.text);
            return text.lines().try_for_each(|line| self.line(entry, line));
        }
        let begun = begun.unwrap_or_else(|| LogEntry { text: String::new(), ..entry.clone() });
        let text = format!("{}{}", begun.text, entry.text);
        let (whole, rest) =
            text.rsplit_once('\n').map_or((None, &*text), |(whole, rest)| (Some(whole), rest));
        for line in whole.into_iter().flat_map(|whole| whole.split('\n')) {
            self.line(&begun, line)?;
        }
        if !rest.is_empty() {
            self.open = Some(LogEntry { text: rest.to_owned(), ..begun });
        }
        Ok(())
    }

    /// Writes a line that has not ended.
    fn end(&mut self) -> io::Result<()> {
        match self.open.take() {
            Some(open) => self.line(&open, &open.text),
            None => Ok(()),
        }
    }

    /// Writes a line of an entry.
    fn line(&mut self, entry: &LogEntry, text: &str) -> io::Result<()> {
        let at = DateTime::<Local>::from(entry.at).format("%Y-%m-%d %H:%M:%S");
        let run = entry.run.as_deref().unwrap_or("-");
        let mark = match entry.kind {
            LogEntryKind::Stdout | LogEntryKind::Result => "|",
            LogEntryKind::Stderr | LogEntryKind::Error => "!",
            LogEntryKind::Event => "*",
        };
        writeln!(self.out, "{at} {run} {mark} {}", plain(text))
    }
}

/// A line as it appears on a terminal, without what would control ours.
fn plain(line: &str) -> String {
    render::terminal_text(line).chars().filter(|it| *it == '\t' || !it.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn lines(entries: &[(LogEntryKind, Option<&str>, &str)]) -> Vec<String> {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        for (kind, run, text) in entries {
            let (run, cell) = (run.map(Into::into), run.map(|_| "c".into()));
            let entry = LogEntry { at: SystemTime::now(), run, cell, kind: *kind, text: (*text).to_owned() };
            lines.write(&entry).unwrap();
        }
        lines.end().unwrap();
        // Without the time.
        String::from_utf8(out).unwrap().lines().map(|line| line[20..].to_owned()).collect()
    }

    #[test]
    fn pieces_of_a_line_are_one_line_unless_other_output_comes_between() {
        let shown = lines(&[
            (LogEntryKind::Event, Some("r1"), "was requested: x"),
            (LogEntryKind::Stdout, Some("r1"), "one\ntw"),
            (LogEntryKind::Stdout, Some("r1"), "o\n\nthr"),
            (LogEntryKind::Stderr, Some("r1"), "warning\n"),
            (LogEntryKind::Stdout, None, "ee"),
            (LogEntryKind::Error, Some("r1"), "Traceback\nE: v"),
            (LogEntryKind::Stdout, Some("r1"), "fo"),
            (LogEntryKind::Event, Some("r1"), "ended: ok"),
            (LogEntryKind::Stdout, Some("r1"), "ur\n"),
            (LogEntryKind::Event, None, "the kernel ended: exit code 1"),
        ]);
        let expected = [
            "r1 * cell c was requested: x",
            "r1 | one",
            "r1 | two",
            "r1 | ",
            "r1 | thr",
            "r1 ! warning",
            "- | ee",
            "r1 ! Traceback",
            "r1 ! E: v",
            "r1 * cell c ended: ok",
            "r1 | four",
            "- * the kernel ended: exit code 1",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn nothing_that_was_printed_controls_the_terminal() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\u{7}"), "red");
        assert_eq!(plain(" 10%\r 50%\r100%\r"), "100%");
        assert_eq!(plain("\u{1b}]0;title\u{7}a\tb\u{1b}[2J\u{1b}"), "a\tb");
    }
}
