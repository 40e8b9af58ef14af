//! `cellbridge kernels logs`: what a kernel printed and what happened to it, from its keeper's log.

use std::io::{self, Write};
use std::time::SystemTime;

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
    open: Option<Open>,
}

struct Open {
    at: SystemTime,
    run: Option<notebook::RunId>,
    kind: LogEntryKind,
    text: String,
}

impl<W: Write> Lines<W> {
    fn new(out: W) -> Self {
        Self { out, open: None }
    }

    fn write(&mut self, entry: &LogEntry) -> io::Result<()> {
        let is_stream = matches!(entry.kind, LogEntryKind::Stdout | LogEntryKind::Stderr);
        let begun = self.open.take_if(|open| is_stream && open.run == entry.run && open.kind == entry.kind);
        self.end()?;
        if !is_stream {
            let about = entry.cell.as_ref().filter(|_| entry.kind == LogEntryKind::Event);
            let about = about.map(|cell| format!("cell {cell} ")).unwrap_or_default();
            let text = format!("{about}{}", entry.text);
            return text
                .lines()
                .try_for_each(|line| self.line(entry.at, entry.run.as_deref(), entry.kind, line));
        }
        let (at, begin) = begun.map_or((entry.at, String::new()), |open| (open.at, open.text));
        let text = begin + &entry.text;
        let (whole, rest) =
            text.rsplit_once('\n').map_or((None, &*text), |(whole, rest)| (Some(whole), rest));
        for line in whole.into_iter().flat_map(|whole| whole.split('\n')) {
            self.line(at, entry.run.as_deref(), entry.kind, line)?;
        }
        if !rest.is_empty() {
            let (run, kind, text) = (entry.run.clone(), entry.kind, rest.to_owned());
            self.open = Some(Open { at, run, kind, text });
        }
        Ok(())
    }

    /// Writes a line that has not ended.
    fn end(&mut self) -> io::Result<()> {
        match self.open.take() {
            Some(open) => self.line(open.at, open.run.as_deref(), open.kind, &open.text),
            None => Ok(()),
        }
    }

    fn line(&mut self, at: SystemTime, run: Option<&str>, kind: LogEntryKind, text: &str) -> io::Result<()> {
        let at = DateTime::<Local>::from(at).format("%Y-%m-%d %H:%M:%S");
        let run = run.unwrap_or("-");
        let mark = match kind {
            LogEntryKind::Stdout | LogEntryKind::Result => "|",
            LogEntryKind::Stderr | LogEntryKind::Error => "!",
            LogEntryKind::Event => "*",
        };
        writeln!(self.out, "{at} {run} {mark} {}", plain(text))
    }
}

/// A line as it appears on a terminal, without what would control ours: escape sequences, and what a carriage return overwrites.
fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
    let (mut shown, mut rest) = (String::with_capacity(line.len()), line.chars());
    while let Some(it) = rest.next() {
        if it == '\u{1b}' {
            // `ESC [`, parameters, and one letter; of other sequences, the character that follows.
            if rest.next() == Some('[') {
                let _ = rest.by_ref().find(|it| ('@'..='~').contains(it));
            }
        } else if it == '\t' || !it.is_control() {
            shown.push(it);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
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
    fn pieces_of_a_line_are_one_line_unless_something_comes_between() {
        let shown = lines(&[
            (LogEntryKind::Event, Some("r1"), "was requested: x"),
            (LogEntryKind::Stdout, Some("r1"), "one\ntw"),
            (LogEntryKind::Stdout, Some("r1"), "o\n\nthr"),
            (LogEntryKind::Stderr, Some("r1"), "warning\n"),
            (LogEntryKind::Stdout, None, "ee"),
            (LogEntryKind::Error, Some("r1"), "Traceback\nE: v"),
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
            "- * the kernel ended: exit code 1",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn nothing_that_was_printed_controls_the_terminal() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\u{7}"), "red");
        assert_eq!(plain(" 10%\r 50%\r100%\r"), "100%");
        assert_eq!(plain("\u{1b}]0;title\ta\u{1b}"), "0;title\ta");
    }
}
