//! Marks lines of kernels and files that start like Cellbridge's own, so that nothing they say can pass for a note of the tool.
//!
//! `[NOTICE] all is well` in an output is shown as `│ [NOTICE] all is well`. A line that starts with the mark is never ours.

mod openings;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use notebook::{is_hidden, one_line, visible};

use crate::offsets::{Replaced, Replacing};

const MARK: &str = "│ ";
/// Of a line, only so many bytes are looked at.
const MAX_PREFIX: usize = 256;

/// The words in brackets with which Cellbridge's lines start, in lower case.
const LABELS: &str = include_str!("marks/labels.txt");

/// Starts of Cellbridge's lines without brackets, in lower case, beside those in `openings.txt`.
const WORDS: &str = include_str!("marks/words.txt");

/// Cellbridge's tools whose names no other code has: a line with such a call reads like its advice. A test derives them from the list of
/// tools.
static TOOLS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("marks/tools.txt").lines().collect());

/// `text` with the lines marked that start like ours.
pub fn marked(text: &str) -> Cow<'_, str> {
    marked_where(text, is_like_ours).text
}

/// A row of one of Cellbridge's tables, of which the first cell can be anything, such as the name of a file.
pub fn marked_row(row: &str) -> Cow<'_, str> {
    let is_marked = begins_like_ours(&plain(start(row)));
    if is_marked { Cow::Owned(format!("{MARK}{row}")) } else { Cow::Borrowed(row) }
}

/// The same for a source, which must be quoted exactly to be edited: only lines are marked that code and prose hardly contain.
pub(crate) fn marked_source(text: &str) -> Replaced<'_> {
    marked_where(text, is_like_label)
}

/// The same for a unified diff of sources, whose lines follow a sign. Hidden characters are escaped, and `data:` URIs shortened.
pub fn marked_difference(diff: &str) -> String {
    let diff = crate::without_data_uris(diff);
    let diff = visible(&diff);
    let is_quoted =
        |line: &str| line.strip_prefix([' ', '+', '-']).is_some_and(|rest| is_like_label(start(rest)));
    let mark = |line| if is_quoted(line) { [MARK, line] } else { ["", line] };
    diff.split_inclusive('\n').flat_map(mark).collect()
}

/// A text of somebody else with each line marked: whatever it says, it ends where the marks end.
pub fn quoted(text: &str) -> String {
    text.split(is_break).flat_map(|line| [MARK.into(), one_line(line), "\n".into()]).collect()
}

fn is_like_label(line: &str) -> bool {
    // Whatever is not ASCII may look like it.
    let may_begin = line.starts_with(|first: char| matches!(first, '[' | '=') || !first.is_ascii());
    may_begin && (is_banner(&plain(line)) || label(&plain(line)).is_some_and(is_known))
}

fn marked_where(text: &str, is_marked: impl Fn(&str) -> bool) -> Replaced<'_> {
    let mut shown = Replacing::default();
    for line in text.split_inclusive(is_break) {
        if is_marked(start(line)) {
            shown.replace("", MARK);
        }
        shown.keep(line);
    }
    shown.finish(text)
}

/// Whether a character ends a line, here or where the text is shown.
fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || is_hidden(character) || character == '\u{2800}'
}

/// A line as it looks: without what cannot be seen, and with fullwidth letters as others.
fn plain(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control()) {
        return Cow::Borrowed(line);
    }
    let narrow = |character: char| match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        _ if is_blank(character) => ' ',
        _ => character,
    };
    // Joiners matter in some scripts, and cannot be seen between the letters of Cellbridge's words.
    let is_seen = |character: &char| !is_hidden(*character) && !matches!(character, '\u{200c}' | '\u{200d}');
    line.chars().filter(is_seen).map(narrow).collect()
}

/// The start of a line, without what cannot be seen before it.
fn start(line: &str) -> &str {
    let is_clear = line.starts_with(|first: char| first.is_ascii_graphic());
    let line = if is_clear { line } else { line.trim_start_matches(is_blank) };
    let end = (0..=MAX_PREFIX.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
    &line[..end.unwrap_or_default()]
}

fn is_like_ours(line: &str) -> bool {
    let line = &*plain(line);
    names_call(line) || begins_like_ours(line)
}

/// `read_cell(output=0)`, anywhere in a line.
fn names_call(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let name =
            line[..at].rsplit(|character: char| character != '_' && !character.is_ascii_alphanumeric());
        name.into_iter().next().is_some_and(|name| TOOLS.contains(name))
    })
}

fn begins_like_ours(line: &str) -> bool {
    match line.chars().next() {
        Some('[') => label(line).is_some_and(|label| is_known(label) || is_upper(label) || is_count(label)),
        Some('=') => is_banner(line),
        Some('…') => {
            let rest = line['…'.len_utf8()..].trim_start();
            rest.starts_with(|character: char| character.is_ascii_digit()) || rest.starts_with("cell")
        }
        Some(first) if first.is_ascii_alphabetic() => {
            let lower = line.to_ascii_lowercase();
            WORDS.lines().any(|word| lower.starts_with(word))
                || is_of_cells(&lower)
                || openings::is_opening(line)
        }
        Some(_) => openings::is_opening(line),
        None => false,
    }
}

/// What follows an opening bracket.
fn label(line: &str) -> Option<&str> {
    line.strip_prefix('[').map(str::trim_start)
}

fn is_known(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let rest = LABELS.lines().filter_map(|known| label.strip_prefix(known));
    rest.into_iter().any(|rest| rest.starts_with([']', ' ', ':', '/']))
}

/// `[NOTICE`, but not the list `[True, False]` or `[X, Y]`.
fn is_upper(label: &str) -> bool {
    label.len() > 1 && label.bytes().take(2).all(|byte| byte.is_ascii_uppercase())
}

/// `[3 cells run`, `[1 of 3 cells shown`, `[300 characters in all`, but not `[5 rows x 3 columns]`.
fn is_count(label: &str) -> bool {
    let rest = label.trim_start_matches(|character: char| character.is_ascii_digit());
    rest.len() < label.len()
        && [" cell", " of ", " more ", " character"].iter().any(|word| rest.starts_with(word))
}

/// `=====Cell 3=====`
fn is_banner(line: &str) -> bool {
    let rest = line.trim_start_matches('=');
    line.len() - rest.len() > 2
        && rest.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("cell"))
}

/// `cells 0–97: no output`, but not `cell In[1], line 1`.
fn is_of_cells(line: &str) -> bool {
    let rest = line.strip_prefix("cells ").or_else(|| line.strip_prefix("cell "));
    rest.is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
}

/// Marks the lines of a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Marks<S: FnMut(&str)> {
    sink: S,
    /// The start of a line, until it is known whether it is marked.
    start: Option<String>,
}

impl<S: FnMut(&str)> Marks<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { sink, start: Some(String::new()) }
    }

    pub(crate) fn push(&mut self, text: &str) {
        for line in text.split_inclusive(is_break) {
            match &mut self.start {
                None => (self.sink)(line),
                Some(start)
                    if start.is_empty() && (line.len() > 4 * MAX_PREFIX || line.ends_with(is_break)) =>
                {
                    pass(line, &mut self.sink);
                    self.start = None;
                }
                Some(start) => {
                    start.push_str(line);
                    if start.len() > 4 * MAX_PREFIX || line.ends_with(is_break) {
                        self.release();
                    }
                }
            }
            if line.ends_with(is_break) {
                self.start = Some(String::new());
            }
        }
    }

    pub(crate) fn finish(mut self) {
        self.release();
    }

    fn release(&mut self) {
        if let Some(start) = self.start.take() {
            pass(&start, &mut self.sink);
        }
    }
}

fn pass(line: &str, sink: &mut impl FnMut(&str)) {
    if is_like_ours(start(line)) {
        sink(MARK);
    }
    if !line.is_empty() {
        sink(line);
    }
}

#[cfg(test)]
mod tests;
