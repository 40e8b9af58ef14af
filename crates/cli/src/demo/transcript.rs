//! The demo's output: calls, replies and a progress bar on a terminal; plain lines anywhere else.

use std::time::{Duration, Instant};

use clap::builder::styling::{AnsiColor, Color, Effects, Style};
use serde_json::Value;

use terminal::{Painted, Progress, is_read_by_person};

/// Lines kept at the end of a long reply: they hold the result.
const LAST_LINES: usize = 3;
const LONGEST_LINE: usize = 160;
const PROGRESS: &str = "[{bar:14}] {pos}/{len} {elapsed:>4} {spinner} {wide_msg}";
/// Without a progress bar, print at most one line of progress in this time.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);
const RED: Style = coloured(AnsiColor::Red);
const GREEN: Style = coloured(AnsiColor::Green);
const YELLOW: Style = coloured(AnsiColor::Yellow);
const CYAN: Style = coloured(AnsiColor::Cyan);

const fn coloured(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// A transcript on standard output.
pub(crate) struct Transcript {
    has_colours: bool,
    bar: Progress,
    last_progress: Option<Instant>,
}

impl Transcript {
    /// Starts a demo of `chapters` chapters.
    pub(crate) fn start(chapters: usize) -> Self {
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // Only where a line can be replaced.
        let is_smart = is_read_by_person() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let bar = if is_smart { Progress::of_steps(chapters, PROGRESS) } else { Progress::hidden() };
        Self { has_colours: is_smart && !is_plain, bar, last_progress: None }
    }

    pub(crate) fn end(&self) {
        self.bar.end();
    }

    pub(crate) fn chapter(&mut self, title: &str) -> anyhow::Result<()> {
        self.bar.step();
        self.line(&[(PLAIN, "\n"), (BOLD, title)])
    }

    /// Shows a call; long arguments are below it.
    pub(crate) fn calls(&mut self, name: &str, arguments: &Value) -> anyhow::Result<()> {
        let (call, blocks) = call(name, arguments);
        self.bar.set_message(&clean(&call, 50));
        self.last_progress = None;
        self.line(&[(CYAN, "▸"), (PLAIN, " agent calls "), (CYAN, &call)])?;
        let mut lines = blocks.iter().flat_map(|block| block.lines());
        lines.try_for_each(|line| self.line(&[(FAINT, "  │ "), (PLAIN, &clean(line, LONGEST_LINE))]))
    }

    pub(crate) fn progress(&mut self, message: &str) -> anyhow::Result<()> {
        let message = clean(message, LONGEST_LINE);
        self.bar.set_message(&message);
        if !self.bar.is_hidden() || self.last_progress.is_some_and(|last| last.elapsed() < PLAIN_INTERVAL) {
            return Ok(());
        }
        self.last_progress = Some(Instant::now());
        self.say(&format!("  … {message}"))
    }

    /// Shows a reply's text, indented and shortened.
    pub(crate) fn replies(&mut self, text: &str, max_lines: usize) -> anyhow::Result<()> {
        let style = |line: &str| match line.as_bytes() {
            _ if line == "[isError]" => RED,
            [b'+', ..] => GREEN,
            [b'-', ..] => RED,
            [b'[', ..] => FAINT,
            _ => PLAIN,
        };
        let mut lines = shortened(text, max_lines).into_iter();
        lines.try_for_each(|line| self.line(&[(PLAIN, "  "), (style(&line), line.trim_end())]))
    }

    pub(crate) fn thinks(&mut self, thought: &str) -> anyhow::Result<()> {
        self.line(&[(YELLOW, "•"), (PLAIN, &format!(" agent: {thought}"))])
    }

    pub(crate) fn success(&mut self, text: &str) -> anyhow::Result<()> {
        self.line(&[(PLAIN, "\n"), (GREEN, "✔"), (PLAIN, &format!(" {text}"))])
    }

    pub(crate) fn say(&self, text: &str) -> anyhow::Result<()> {
        self.line(&[(PLAIN, text)])
    }

    fn line(&self, parts: &[(Style, &str)]) -> anyhow::Result<()> {
        let style = |style| if self.has_colours { style } else { PLAIN };
        let parts = parts.iter();
        let line = parts.fold(Painted::default(), |line, (of, text)| line.styled(style(*of), text));
        self.bar.say_painted(&line)
    }
}

/// A call as one line, and the arguments that are too long for it.
fn call(name: &str, arguments: &Value) -> (String, Vec<String>) {
    let mut blocks = Vec::new();
    let mut shown = Vec::new();
    for (argument, value) in arguments.as_object().into_iter().flatten() {
        match value.as_str() {
            Some(text) if text.contains('\n') || text.chars().count() > 60 => {
                blocks.push(text.to_owned());
                shown.push(format!("{argument}=↓"));
            }
            _ => shown.push(format!("{argument}={value}")),
        }
    }
    let call = if shown.is_empty() { name.to_owned() } else { format!("{name}({})", shown.join(", ")) };
    (call, blocks)
}

/// The beginning and the end of a text, without control characters.
fn shortened(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = text.trim_end().lines().map(|line| clean(line, LONGEST_LINE)).collect();
    if lines.len() > most {
        let last = if most > 2 * LAST_LINES { LAST_LINES } else { 0 };
        let left_out = most - last..lines.len() - last;
        let note = format!("… {} lines …", left_out.len());
        lines.splice(left_out, [note]);
    }
    lines
}

fn clean(line: &str, longest: usize) -> String {
    let line = line.replace('\t', "  ");
    let mut shown: String = line.chars().filter(|it| !it.is_control()).take(longest).collect();
    if line.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_one_line_and_its_sources_follow() {
        let (line, blocks) = call("insert_cell", &json!({ "cell_type": "code", "cell_source": "a = 1\na" }));
        assert_eq!(line, r#"insert_cell(cell_type="code", cell_source=↓)"#);
        assert_eq!(blocks, ["a = 1\na"]);
        assert_eq!(call("tools/list", &json!({})).0, "tools/list");
    }

    #[test]
    fn long_replies_keep_their_beginning_and_their_end() {
        let text = (1..=100).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
        let lines = shortened(&text, 10);
        assert_eq!(lines[..1], ["line 1"]);
        assert_eq!(lines[6..], ["line 7", "… 90 lines …", "line 98", "line 99", "line 100"]);
        assert_eq!(shortened(&text, 1), ["line 1", "… 99 lines …"]);
        assert_eq!(shortened("one\ntwo\n", 2), ["one", "two"]);
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(clean("a\x1b[2Jb\rc\td", 80), "a[2Jbc  d");
        assert_eq!(clean("ééé", 2), "éé…");
    }
}
