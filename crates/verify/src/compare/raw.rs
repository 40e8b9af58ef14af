//! Compares scripts, styles and the values of attributes: word by word, with ids made equal and pictures within compared as pictures.

use std::sync::LazyLock;

use regex::Regex;

use super::findings::Findings;
use super::ids::{Ids, pattern};
use super::{picture, texts};

static WORD: LazyLock<Regex> = LazyLock::new(|| pattern("[A-Za-z0-9_-]+"));
/// A picture in a URI, possibly with line breaks of JavaScript within.
static PICTURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"data:image/(?:png|jpe?g|gif|webp|bmp)[a-z0-9=;-]*;base64,[A-Za-z0-9+/=%\\\r\n]+")
});

/// Compares both, and notes what differs.
pub(crate) fn compare(place: &str, before: &str, after: &str, ids: &mut Ids<'_>, findings: &mut Findings) {
    if before == after {
        return;
    }
    let pictures: Vec<_> = PICTURE.find_iter(before).zip(PICTURE.find_iter(after)).collect();
    for (number, (one, other)) in pictures.iter().enumerate() {
        let count = pictures.len();
        let of = if count > 1 { format!(" {} of {count}", number + 1) } else { String::new() };
        picture::compare_uris(&format!("{place} picture{of}"), one.as_str(), other.as_str(), findings);
    }
    let (before, after) = (PICTURE.replace_all(before, "data:"), PICTURE.replace_all(after, "data:"));
    let rerun = ids.rerun;
    if !texts::are_same_but(&before, &after, rerun, |one, other| are_same_words(one, other, ids)) {
        findings.change(place, &before, &after);
    }
}

fn are_same_words(before: &str, after: &str, ids: &mut Ids<'_>) -> bool {
    let (mut one, mut other) = (WORD.find_iter(before), WORD.find_iter(after));
    let (mut end, mut other_end) = (0, 0);
    loop {
        match (one.next(), other.next()) {
            (Some(word), Some(changed)) => {
                if before[end..word.start()] != after[other_end..changed.start()]
                    || !ids.are_same(word.as_str(), changed.as_str())
                {
                    return false;
                }
                (end, other_end) = (word.end(), changed.end());
            }
            (None, None) => return before[end..] == after[other_end..],
            _ => return false,
        }
    }
}
