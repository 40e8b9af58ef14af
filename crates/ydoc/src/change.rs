//! Minimal changes from one text to another, so that simultaneous edits elsewhere in it survive.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, myers};
use yrs::{Text, TextRef, TransactionMut};

/// A longer difference is replaced as a whole, in bytes of both texts.
const MAX_DIFF: usize = 256 * 1024;
/// Longer changed lines are not compared by characters, in bytes of both texts.
const MAX_LINE_DIFF: usize = 8 * 1024;
/// When it is exceeded, the comparison is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);
/// Changes with at most this many equal bytes between them are joined.
const MAX_JOINED_GAP: usize = 2;

/// A range of the old text and the range of the new text that replaces it, in bytes; both hold whole characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextChange {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// At most one change: all that is between the common prefix and the common suffix.
///
/// Example: from `print(a)` to `print(ab)` the prefix is `print(a` and the suffix `)`, so the change is 7..7 → 7..8.
pub(crate) fn around(old: &str, new: &str) -> Vec<TextChange> {
    let mut prefix = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(prefix) || !new.is_char_boundary(prefix) {
        prefix -= 1;
    }
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let mut suffix = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(old.len() - suffix) || !new.is_char_boundary(new.len() - suffix) {
        suffix -= 1;
    }
    let change = TextChange { old: prefix..old.len() - suffix, new: prefix..new.len() - suffix };
    if change.old.is_empty() && change.new.is_empty() { Vec::new() } else { vec![change] }
}

/// The changes in order, by lines first and then by characters within changed lines.
pub(crate) fn between(old: &str, new: &str) -> Vec<TextChange> {
    let around = around(old, new);
    let Some(TextChange { old: old_range, new: new_range }) = around.first() else { return around };
    // Whole lines, so that an inserted line is one change.
    let start = old[..old_range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = old[old_range.end..].find('\n').map_or(old.len(), |at| old_range.end + at + 1);
    let (old_part, new_part) = (&old[start..end], &new[start..new_range.end + (end - old_range.end)]);
    if old_range.is_empty() || new_range.is_empty() || old_part.len() + new_part.len() > MAX_DIFF {
        return around;
    }
    let deadline = Instant::now() + DIFF_TIMEOUT;
    let (old_lines, new_lines) = (lines(old_part), lines(new_part));
    let mut changes = Vec::new();
    for replaced in compare(&old_lines, &new_lines, deadline) {
        let (old_text, new_text) = (&old_part[replaced.old.clone()], &new_part[replaced.new.clone()]);
        let is_close = old_text.len() + new_text.len() <= MAX_LINE_DIFF;
        let within = if is_close && !old_text.is_empty() && !new_text.is_empty() {
            let (old, new) = (characters(old_text), characters(new_text));
            join(compare(&old, &new, deadline))
        } else {
            self::around(old_text, new_text)
        };
        let offset = (start + replaced.old.start, start + replaced.new.start);
        changes.extend(within.into_iter().map(|change| change.moved(offset)));
    }
    changes
}

impl TextChange {
    fn moved(self, (old, new): (usize, usize)) -> Self {
        Self { old: self.old.start + old..self.old.end + old, new: self.new.start + new..self.new.end + new }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn characters(text: &str) -> Vec<&str> {
    let starts = text.char_indices().map(|(at, character)| (at, at + character.len_utf8()));
    starts.map(|(start, end)| &text[start..end]).collect()
}

/// The differences between two texts, each given as its adjacent pieces.
fn compare(old: &[&str], new: &[&str], deadline: Instant) -> Vec<TextChange> {
    let (old_bounds, new_bounds) = (boundaries(old), boundaries(new));
    let mut equal = Capture::new();
    // Capturing cannot fail.
    let _ = myers::diff_deadline(&mut equal, old, 0..old.len(), new, 0..new.len(), Some(deadline));
    let mut changes = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    // Only equal ranges are used: the positions in other steps are not always in order.
    let equal = equal.into_ops().into_iter().filter(|step| matches!(step, DiffOp::Equal { .. }));
    let equal = equal.map(|step| (step.old_range(), step.new_range()));
    for (old_equal, new_equal) in equal.chain([(old.len()..old.len(), new.len()..new.len())]) {
        if old_at < old_equal.start || new_at < new_equal.start {
            changes.push(TextChange {
                old: old_bounds[old_at]..old_bounds[old_equal.start],
                new: new_bounds[new_at]..new_bounds[new_equal.start],
            });
        }
        (old_at, new_at) = (old_equal.end, new_equal.end);
    }
    changes
}

/// The start of each piece, and the end of the last.
fn boundaries(pieces: &[&str]) -> Vec<usize> {
    let mut end = 0;
    let ends = pieces.iter().map(|piece| {
        end += piece.len();
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// Joins changes with hardly anything between them, such as letters that two words share by accident.
fn join(changes: Vec<TextChange>) -> Vec<TextChange> {
    let mut joined: Vec<TextChange> = Vec::with_capacity(changes.len());
    for change in changes {
        match joined.last_mut() {
            Some(last) if change.old.start - last.old.end <= MAX_JOINED_GAP => {
                last.old.end = change.old.end;
                last.new.end = change.new.end;
            }
            _ => joined.push(change),
        }
    }
    joined
}

/// Applies the changes from `old` to `new`. If the shared text is not as long as `old`, it is replaced as a whole.
///
/// Changes are in bytes, the shared text counts UTF-16 code units. Example: in `é😀x = 1`, `x` starts at byte 6 (`é` has two
/// bytes, `😀` four) and at unit 3 (one and two units).
pub(crate) fn apply(
    text: &TextRef,
    old: &str,
    new: &str,
    changes: &[TextChange],
    txn: &mut TransactionMut<'_>,
) {
    if !is_length(text, std::iter::once(old), txn) {
        let length = text.len(txn);
        text.remove_range(txn, 0, length);
        text.insert(txn, 0, new);
        return;
    }
    let mut units = 0;
    let mut counted = 0;
    let mut offsets = Vec::with_capacity(changes.len());
    for change in changes {
        units += utf16(&old[counted..change.old.start]);
        let removed = utf16(&old[change.old.clone()]);
        offsets.push((units, removed));
        units += removed;
        counted = change.old.end;
    }
    // From the end, so that earlier offsets stay valid.
    for (change, (at, removed)) in changes.iter().zip(offsets).rev() {
        if removed > 0 {
            text.remove_range(txn, at, removed);
        }
        if !change.new.is_empty() {
            text.insert(txn, at, &new[change.new.clone()]);
        }
    }
}

/// Whether the shared text is as long as `pieces`; a text with embedded objects is longer.
pub(crate) fn is_length<'a>(
    text: &TextRef,
    pieces: impl Iterator<Item = &'a str>,
    txn: &TransactionMut<'_>,
) -> bool {
    text.len(txn) == pieces.map(utf16).sum::<u32>()
}

/// The length in UTF-16 code units.
fn utf16(text: &str) -> u32 {
    let units = if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() };
    u32::try_from(units).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
