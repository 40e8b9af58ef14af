//! What a person is asked.
//!
//! Parts of a question come from agents, code and files. [`QuestionText`] is the only type that becomes a question: it makes
//! control and bidi characters visible, indents what is not ours below a line that says whose it is, and keeps room for
//! sources, so that nothing else can push them out. If they do not all fit, the longest are cut: a long text cannot push out a short
//! one, whichever of them runs.

use futures_util::future::BoxFuture;
use unicode_normalization::char::is_combining_mark;

use crate::replies::cell_text::shortened;

#[cfg(test)]
mod tests;

/// The most characters of sources in one question.
const MAX_SOURCES: usize = 20_000;
/// The most sources in one question.
const MAX_LISTED: usize = 200;
/// The most characters of everything else that is not ours.
const MAX_VALUES: usize = 2000;
/// The most characters of one value.
const MAX_VALUE: usize = 400;
/// Longer rows of spaces, and of empty lines, are counted, not shown: they could push code out of sight.
const MAX_SPACES: usize = 100;
const MAX_EMPTY_LINES: usize = 5;
/// Further marks on one character are shown as codes: by the dozen, they cover the lines around it.
const MAX_MARKS: usize = 4;

/// What a person is asked.
#[derive(Debug, Clone)]
pub enum Question {
    /// For a line of text.
    Line(QuestionText),
    /// To accept or decline something.
    Consent(QuestionText),
}

/// The person behind an agent that can ask them.
pub trait Person: Send + Sync {
    /// Asks, and waits for the reply, within a bound of its own.
    fn ask(&self, question: Question) -> BoxFuture<'_, PersonReply>;
}

/// What became of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum PersonReply {
    Accepted {
        /// The line that was asked for.
        line: Option<String>,
    },
    Declined,
    /// The person closed the form, or the agent did for them.
    Dismissed,
    TimedOut,
    /// The agent could not ask.
    Failed,
}

/// The text of a question, safe to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionText(String);

/// Whose text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    Agent,
    Code,
    Notebook,
    File,
}

/// A question that is being written.
#[derive(Debug)]
pub struct Draft {
    heading: String,
    body: Vec<Part>,
    speaker: Option<Speaker>,
    /// The characters of sources that are not listed, and how many sources these are.
    unlisted: (usize, usize),
    values: Room,
}

#[derive(Debug)]
enum Part {
    /// Lines as they will be shown.
    Lines(String),
    /// A source, of which as much is shown as there is room for.
    Source(String),
}

/// How many characters may still be shown, and how many were left out.
#[derive(Debug)]
struct Room {
    left: usize,
    hidden: usize,
}

impl Question {
    pub fn text(&self) -> &str {
        match self {
            Self::Line(text) | Self::Consent(text) => &text.0,
        }
    }
}

impl QuestionText {
    /// Starts with our own sentence, which may contain foreign names.
    pub fn begin(sentence: &str) -> Draft {
        Draft {
            heading: visible(sentence),
            body: Vec::new(),
            speaker: None,
            unlisted: (0, 0),
            values: Room { left: MAX_VALUES, hidden: 0 },
        }
    }

    /// The question of code that waits for `input()`.
    pub fn input(prompt: &str) -> Self {
        let mut draft = Self::begin("The code requests a line of input.");
        if !prompt.trim().is_empty() {
            draft.says(Speaker::Code);
            draft.block("    ", prompt);
        }
        draft.finish()
    }
}

impl Speaker {
    fn line(self) -> &'static str {
        match self {
            Self::Agent => "The agent says:",
            Self::Code => "The code asks:",
            Self::Notebook => "The notebook has:",
            Self::File => "The file has:",
        }
    }
}

impl Draft {
    /// Our own line, which may contain foreign names.
    pub fn line(&mut self, line: &str) {
        self.push(&visible(&shortened(line, MAX_VALUE)));
    }

    /// Adds a line that is safe to be shown.
    fn push(&mut self, line: &str) {
        if !matches!(self.body.last(), Some(Part::Lines(_))) {
            self.body.push(Part::Lines(String::new()));
        }
        if let Some(Part::Lines(lines)) = self.body.last_mut() {
            lines.push_str(line);
            lines.push('\n');
        }
    }

    /// What follows is said by somebody else.
    pub fn says(&mut self, speaker: Speaker) {
        if self.speaker.replace(speaker) != Some(speaker) {
            self.line(speaker.line());
        }
    }

    /// Something short that somebody else says.
    pub fn value(&mut self, name: &str, text: &str) {
        let cost = name.chars().count().min(MAX_VALUE) + text.chars().count().min(MAX_VALUE);
        if cost > self.values.left {
            self.values.left = 0;
            self.values.hidden += 1;
            return;
        }
        self.values.left -= cost;
        let name = shortened(name, MAX_VALUE);
        if text.contains('\n') {
            self.line(&format!("    {name}:"));
            self.values.left += text.chars().count().min(MAX_VALUE);
            self.block("        ", text);
            return;
        }
        let (text, rest) =
            text.char_indices().nth(MAX_VALUE).map_or((text, ""), |(end, _)| text.split_at(end));
        self.push(&format!("    {}: {}", visible(&name), visible(text)));
        if !rest.is_empty() {
            self.push(&format!("        {}", not_shown(rest)));
        }
    }

    /// Code, or another text that somebody else says and that matters as a whole.
    pub fn source(&mut self, name: &str, text: &str) {
        let listed = self.body.iter().filter(|part| matches!(part, Part::Source(_))).count();
        if listed >= MAX_LISTED && !text.is_empty() {
            self.unlisted = (self.unlisted.0 + text.chars().count(), self.unlisted.1 + 1);
            return;
        }
        self.line(&format!("    {name}:"));
        self.body.push(Part::Source(compact(text)));
    }

    pub fn finish(self) -> QuestionText {
        let Self { heading, body, unlisted: (mut hidden, unlisted), values, .. } = self;
        let lengths = body.iter().filter_map(|part| match part {
            Part::Source(text) => Some(text.chars().count()),
            Part::Lines(_) => None,
        });
        let most = most_of_each(lengths.collect());
        let mut shown = String::new();
        for part in &body {
            match part {
                Part::Lines(lines) => shown.push_str(lines),
                Part::Source(text) => hidden += add(&mut shown, "        ", text, most),
            }
        }
        let mut text = format!("{heading}\n");
        // It stands where nobody can overlook it.
        if hidden > 0 {
            text.push_str(&format!(
                "Warning: not all of the code fits into this question. {hidden} characters of it are not shown.\n"
            ));
        }
        text.push_str(&shown);
        if unlisted > 0 {
            text.push_str(&format!("[… {unlisted} more sources are not shown]\n"));
        }
        if values.hidden > 0 {
            text.push_str(&format!("[… {} more values are not shown]\n", values.hidden));
        }
        QuestionText(text)
    }

    /// Lines of somebody else that are no source.
    fn block(&mut self, indent: &str, text: &str) {
        let text = compact(text);
        let most = self.values.left.min(MAX_VALUE);
        self.values.left -= text.chars().count().min(most);
        let mut lines = String::new();
        add(&mut lines, indent, &text, most);
        if let Some(lines) = lines.strip_suffix('\n') {
            self.push(lines);
        }
    }
}

/// How many characters of each source are shown, for sources of these lengths: all of the shorter ones, and as much of each longer one
/// as is left for it.
fn most_of_each(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let (mut left, mut count) = (MAX_SOURCES, lengths.len());
    for length in lengths {
        if length > left / count {
            return left / count;
        }
        left -= length;
        count -= 1;
    }
    MAX_SOURCES
}

/// Adds at most so many characters of a text, indented, so that no line can pass for another part of the question. Returns how many
/// are left out.
fn add(shown: &mut String, indent: &str, text: &str, most: usize) -> usize {
    let (text, rest) = text.char_indices().nth(most).map_or((text, ""), |(end, _)| text.split_at(end));
    for line in text.split('\n').filter(|_| !text.is_empty()) {
        shown.push_str(&format!("{indent}{}\n", visible(line)));
    }
    if !rest.is_empty() {
        shown.push_str(&format!("{indent}{}\n", not_shown(rest)));
    }
    rest.chars().count()
}

fn not_shown(rest: &str) -> String {
    format!("[… {} more characters are not shown]", rest.chars().count())
}

/// The text with long rows of spaces and of empty lines counted.
fn compact(text: &str) -> String {
    let mut compact = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim_end().split('\n') {
        if line.chars().all(is_blank) {
            empty += 1;
            continue;
        }
        end_empty_lines(&mut compact, &mut empty);
        compact.push_str(&counted(line));
        compact.push('\n');
    }
    compact.pop();
    compact
}

/// The text with long rows of spaces counted.
fn counted(text: &str) -> String {
    let (mut counted, mut rest) = (String::with_capacity(text.len()), text);
    while !rest.is_empty() {
        let (spaces, after) = rest.split_at(rest.find(|c| !is_blank(c)).unwrap_or(rest.len()));
        match spaces.chars().count() {
            count if count > MAX_SPACES => counted.push_str(&format!("[… {count} spaces]")),
            _ => counted.push_str(spaces),
        }
        let (words, after) = after.split_at(after.find(is_blank).unwrap_or(after.len()));
        counted.push_str(words);
        rest = after;
    }
    counted
}

fn end_empty_lines(compact: &mut String, empty: &mut usize) {
    if *empty > MAX_EMPTY_LINES {
        compact.push_str(&format!("[… {empty} empty lines]\n"));
    } else {
        compact.push_str(&"\n".repeat(*empty));
    }
    *empty = 0;
}

/// Whether it shows nothing, although it takes room.
fn is_blank(c: char) -> bool {
    (c.is_whitespace() && c != '\n' && !is_hidden(c)) || c == '\u{2800}'
}

/// Whether it could change how the rest of a text looks, or is not to be seen at all.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fffc}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1d159}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text without what could change how the rest of it looks, or push it out of sight.
fn visible(text: &str) -> String {
    let text = counted(text);
    let mut visible = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if !c.is_ascii() && is_combining_mark(c) { marks + 1 } else { 0 };
        if is_hidden(c) || marks > MAX_MARKS {
            visible.extend(c.escape_unicode());
        } else {
            visible.push(c);
        }
    }
    visible
}
