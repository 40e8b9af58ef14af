//! Minimal changes from one text to another, so that simultaneous edits elsewhere in it survive.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, myers};
use yrs::{Text, TextRef, TransactionMut};

/// A longer difference is replaced as a whole, in bytes of both texts.
const MAX_DIFF: usize = 256 * 1024;
/// When it is exceeded, the comparison is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);

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

/// The changes in order: of words, and of a word only what differs.
pub(crate) fn between(old: &str, new: &str) -> Vec<TextChange> {
    let around = around(old, new);
    let Some(whole) = around.first() else { return around };
    let (old, new) = (&old[whole.old.clone()], &new[whole.new.clone()]);
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_DIFF {
        return around;
    }
    let trimmed = |change: TextChange| {
        let within = self::around(&old[change.old.clone()], &new[change.new.clone()]);
        let (old, new) = (whole.old.start + change.old.start, whole.new.start + change.new.start);
        within.into_iter().map(move |it| TextChange {
            old: it.old.start + old..it.old.end + old,
            new: it.new.start + new..it.new.end + new,
        })
    };
    compare(&words(old), &words(new)).into_iter().flat_map(trimmed).collect()
}

/// The words of a text, each with the character that follows it.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(|character: char| !character.is_alphanumeric() && character != '_').collect()
}

/// The differences between two texts, each given as its adjacent pieces.
fn compare(old: &[&str], new: &[&str]) -> Vec<TextChange> {
    let (old_bounds, new_bounds) = (boundaries(old), boundaries(new));
    let mut equal = Capture::new();
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    // Capturing cannot fail.
    let _ = myers::diff_deadline(&mut equal, old, 0..old.len(), new, 0..new.len(), deadline);
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
    let length = text.len(txn);
    // A text with embedded objects is longer.
    if length != utf16(old) {
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

/// The length in UTF-16 code units.
fn utf16(text: &str) -> u32 {
    let units = if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() };
    u32::try_from(units).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
