//! Long texts on a terminal: with colours, through the person's pager.

use std::io::{IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use clap::builder::styling::{AnsiColor, Style};

use crate::install::say;

/// Prints a text whose lines are operations and differences. On a terminal it has colours, unless `NO_COLOR` is set, and goes
/// through the pager.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if text.is_empty() || !std::io::stdout().is_terminal() {
        return say(text);
    }
    let text = if is_set("NO_COLOR") { text.to_owned() } else { coloured(text) };
    if page(&text).is_none() { say(&text) } else { Ok(()) }
}

/// `None` if there is no pager.
fn page(text: &str) -> Option<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let mut words = pager.as_deref().unwrap_or("less").split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // As git does: what fits on the screen stays there, and colours are passed on.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn().ok()?;
    // The person may leave the pager before it has read everything.
    let _ = child.stdin.take().map(|mut input| input.write_all(format!("{text}\n").as_bytes()));
    let _ = child.wait();
    Some(())
}

fn coloured(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| paint(line, style(line))).collect();
    lines.join("\n")
}

fn style(line: &str) -> Style {
    let of = |colour: AnsiColor| colour.on_default();
    let is_operation =
        line.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match line.chars().next() {
        Some('+') => of(AnsiColor::Green),
        Some('-') => of(AnsiColor::Red),
        Some('@') => of(AnsiColor::Cyan),
        _ if is_operation => of(AnsiColor::Yellow),
        // Lines of a difference are indented.
        Some(c) if c != ' ' => Style::new().bold(),
        _ => Style::new(),
    }
}

fn paint(line: &str, style: Style) -> String {
    if style == Style::new() { line.to_owned() } else { format!("{style}{line}{style:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_colours_of_a_difference() {
        let shown = coloured("o4 edited\n@@ -1 +1 @@\n-old\n+new\n same");
        let expected = "\u{1b}[33mo4 edited\u{1b}[0m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[31m-old\u{1b}[0m\n\
                        \u{1b}[32m+new\u{1b}[0m\n same";
        assert_eq!(shown, expected);
        assert_eq!(coloured("changed #1"), "\u{1b}[1mchanged #1\u{1b}[0m");
    }
}
