//! Adding a member to an object or an array, and removing one, in the style of the others.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Ranged as _;
use serde_json::Value;

use crate::edit::print::{self, Layout};
use crate::edit::splice::Splice;

const DEFAULT_UNIT: &str = "  ";

/// An object or an array, with the ranges of its members.
pub(super) struct Container<'a> {
    text: &'a str,
    range: Range<usize>,
    members: Vec<Range<usize>>,
}

impl<'a> Container<'a> {
    pub(super) fn object(text: &'a str, object: &Object) -> Self {
        let members = object.properties.iter().map(|it| it.range().start..it.range().end).collect();
        Self { text, range: object.range.start..object.range.end, members }
    }

    pub(super) fn array(text: &'a str, array: &Array) -> Self {
        let members = array.elements.iter().map(|it| it.range().start..it.range().end).collect();
        Self { text, range: array.range.start..array.range.end, members }
    }

    /// Adds a member at the end.
    pub(super) fn insert(&self, unit: &str, print: impl FnOnce(Layout) -> String) -> Vec<Splice> {
        let inner_end = self.range.end - 1;
        let last = self.members.last();
        let comma = last.and_then(|last| self.comma_after(last.end));
        let before = comma.map(|at| at + 1).or(last.map(|last| last.end)).unwrap_or(self.range.start + 1);
        let at = end_of_comments_on_line(self.text, before);
        let tail = if comma.is_some() { "," } else { "" };
        let mut splices = Vec::new();
        if let (Some(last), None) = (last, comma) {
            splices.push(Splice::insert(last.end, ","));
        }
        if !self.members.is_empty() && !self.text[self.range.clone()].contains('\n') {
            splices.push(Splice::insert(at, format!(" {}{tail}", print(Layout::OneLine))));
            return splices;
        }
        let outer = indentation(self.text, self.range.start);
        let mut own_lines = self.members.iter().filter_map(|it| own_line_indentation(self.text, it.start));
        let indent = own_lines.next_back().map_or_else(|| format!("{outer}{unit}"), str::to_owned);
        let member = print(Layout::Lines { indent: &indent, unit });
        let needs_line = self.members.is_empty() && !self.text[at..inner_end].contains('\n');
        let end = if needs_line { format!("\n{outer}") } else { String::new() };
        splices.push(Splice::insert(at, format!("\n{indent}{member}{tail}{end}")));
        splices
    }

    pub(super) fn remove(&self, index: usize) -> Vec<Splice> {
        let member = self.members[index].clone();
        let comma = self.comma_after(member.end);
        let end = comma.map_or(member.end, |at| at + 1);
        let previous_end = index.checked_sub(1).map(|it| self.members[it].end);
        let gap_start = previous_end.unwrap_or(self.range.start + 1);
        let gap = &self.text[gap_start..member.start];
        let rest = &self.text[end..self.range.end - 1];
        let is_alone = self.members.len() == 1 && gap.trim().is_empty() && rest.trim().is_empty();
        if is_alone {
            return vec![Splice::delete(self.range.start + 1..self.range.end - 1)];
        }
        let mut splices = Vec::new();
        if let (None, Some(comma)) = (comma, previous_end.and_then(|it| self.comma_after(it))) {
            splices.push(Splice::delete(comma..comma + 1));
        }
        splices.push(Splice::delete(self.removed_range(&member, end, gap_start, comma.is_some())));
        splices
    }

    /// The member and the space that belongs to it.
    fn removed_range(
        &self,
        member: &Range<usize>,
        end: usize,
        gap_start: usize,
        has_comma: bool,
    ) -> Range<usize> {
        let text = self.text;
        let after = end + text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        let ends_line = text[after..].starts_with(['\r', '\n']);
        // A line comment needs the line end that follows it.
        let follows_line_comment = text[gap_start..member.start].contains("//");
        let can_join_lines = ends_line || !(has_comma || follows_line_comment);
        if can_join_lines && own_line_indentation(text, member.start).is_some() {
            let line_end = text[..member.start].rfind('\n').unwrap_or_default();
            let start = if text[..line_end].ends_with('\r') { line_end - 1 } else { line_end };
            return start.max(gap_start)..end;
        }
        if has_comma {
            return member.start..if ends_line { end } else { after };
        }
        let spaces = text[..member.start].trim_end_matches([' ', '\t']).len();
        spaces.max(gap_start)..end
    }

    /// The comma that follows a position, after spaces and comments.
    fn comma_after(&self, at: usize) -> Option<usize> {
        let next = skip_space_and_comments(self.text, at);
        self.text[next..].starts_with(',').then_some(next)
    }
}

/// A value as the only content of a text that has none.
pub(super) fn whole(text: &str, value: &Value) -> Vec<Splice> {
    let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let printed = print::value(value, Layout::Lines { indent: "", unit: DEFAULT_UNIT });
    vec![Splice::insert(text.len(), format!("{line}{printed}\n"))]
}

/// What a level of indentation is in this text.
pub(super) fn unit<'a>(text: &'a str, root: &Object) -> &'a str {
    let first = root.properties.iter().find_map(|it| own_line_indentation(text, it.range().start));
    first.filter(|it| !it.is_empty()).unwrap_or(DEFAULT_UNIT)
}

/// The indentation of the line that a position is on.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indentation before a position, if nothing else stands before it on its line.
fn own_line_indentation(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.chars().all(|it| matches!(it, ' ' | '\t')).then_some(before)
}

fn skip_space_and_comments(text: &str, mut at: usize) -> usize {
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        match comment_length(&text[at..]) {
            Some(length) => at += length,
            None => return at,
        }
    }
}

/// Where the comments end that begin on the line of a position.
fn end_of_comments_on_line(text: &str, mut at: usize) -> usize {
    let mut next = at;
    loop {
        next += text[next..].len() - text[next..].trim_start_matches([' ', '\t']).len();
        match comment_length(&text[next..]) {
            Some(length) => {
                at = next + length;
                next = at;
            }
            None => return at,
        }
    }
}

/// The length of the comment that a text begins with, without the line end.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\r', '\n']).unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?.find("*/").map(|it| it + 4)
}
