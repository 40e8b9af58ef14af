//! Long texts on a terminal: with colours, through the person's pager.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::builder::styling::{AnsiColor, Style};
use environments::programs;

use crate::process::process_env;
use terminal::{Painted, is_read_by_person, say, say_painted};

/// Prints a text whose lines are operations and differences. On a terminal it has colours, unless `NO_COLOR` is set, and goes
/// through the pager, which is none that comes with the notebook at `path`.
pub(crate) fn show(text: &str, path: &Path) -> anyhow::Result<()> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if text.is_empty() || !is_read_by_person() {
        return say(text);
    }
    let lines = if is_set("NO_COLOR") { Painted::default().plain(text) } else { coloured(text) };
    if page(&lines, path).is_none() { say_painted(&lines) } else { Ok(()) }
}

/// `None` if there is no pager.
fn page(lines: &Painted, path: &Path) -> Option<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let mut words = pager.as_deref().unwrap_or("less").split_whitespace();
    let notebook = path.canonicalize().ok();
    let roots = [std::env::current_dir().ok(), notebook.and_then(|file| Some(file.parent()?.to_path_buf()))];
    let roots: Vec<_> = roots.into_iter().flatten().collect();
    let process_env = process_env();
    let mut command = Command::new(programs::find(words.next()?, &process_env, &roots)?);
    command.args(words).stdin(Stdio::piped()).env_clear().envs(process_env.variables.iter());
    if std::env::var_os("LESS").is_none() {
        // As git does: what fits on the screen stays there, and colours are passed on.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn().ok()?;
    // The person may leave the pager before it has read everything.
    let _ = child.stdin.take().map(|mut input| input.write_all(format!("{}\n", lines.as_str()).as_bytes()));
    let _ = child.wait();
    Some(())
}

fn coloured(text: &str) -> Painted {
    let lines = text.split('\n').enumerate();
    lines.fold(Painted::default(), |painted, (index, line)| {
        let painted = if index > 0 { painted.plain("\n") } else { painted };
        painted.styled(style(line), line)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_colours_of_a_difference() {
        let shown = coloured("o4 edited\n@@ -1 +1 @@\n-old\n+new\n same");
        let expected = "\u{1b}[33mo4 edited\u{1b}[0m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[31m-old\u{1b}[0m\n\
                        \u{1b}[32m+new\u{1b}[0m\n same";
        assert_eq!(shown.as_str(), expected);
        assert_eq!(coloured("changed #1").as_str(), "\u{1b}[1mchanged #1\u{1b}[0m");
    }

    #[test]
    fn a_changed_line_stays_where_it_is() {
        let shown = coloured("-a\r\u{1b}[2K\u{1b}[1A\n+b\u{202e}\r\n c");
        let expected =
            "\u{1b}[31m-a\\u{d}\\u{1b}[2K\\u{1b}[1A\u{1b}[0m\n\u{1b}[32m+b\\u{202e}\\u{d}\u{1b}[0m\n c";
        assert_eq!(shown.as_str(), expected);
    }
}
