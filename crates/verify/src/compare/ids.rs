//! Ids that change with each run, in markup and scripts.
//!
//! Two words are the same if they are ids and each occurs wherever the other does. Example: where `T_ab12c` is the id of a table in
//! one run and `T_ff00d` in the other, `T_ab12c_row0_col1` is `T_ff00d_row0_col1`, and is not `T_ff00d_row2_col1`.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::rerun::Rerun;

/// A UUID that is random or has the time in it, or 32 hexadecimal digits.
static RANDOM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "[0-9a-f]{8}-[0-9a-f]{4}-[1467][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9A-F]{32}",
    )
});
/// An id in JSON that a library has made: bokeh's have a `p` and a number.
static IN_JSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\\?"id\\?"\s*:\s*\\?"(p\d{3,}|[0-9a-f-]{10,})\\?""#));
/// The names that altair gives to views and parameters.
static OF_ALTAIR: LazyLock<Regex> = LazyLock::new(|| pattern("^(?:view|param)_[a-f]*[0-9][0-9a-f]*$"));

#[expect(clippy::expect_used, reason = "the patterns are fixed, and tests use them")]
pub(crate) fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a regular expression")
}

/// The ids of two contents, and which one of the first is which one of the second.
#[derive(Debug)]
pub(crate) struct Ids<'r> {
    pub(crate) rerun: &'r Rerun,
    before: BTreeSet<String>,
    after: BTreeSet<String>,
    pairs: HashMap<String, String>,
    back: HashMap<String, String>,
}

impl<'r> Ids<'r> {
    /// With the ids that both contents give to their parts, and those that their scripts have.
    pub(crate) fn of(
        before: impl IntoIterator<Item = String>,
        after: impl IntoIterator<Item = String>,
        rerun: &'r Rerun,
    ) -> Self {
        // A mere number may be data elsewhere.
        let is_id = |id: &String| id.chars().any(char::is_alphabetic);
        Self {
            rerun,
            before: before.into_iter().filter(is_id).collect(),
            after: after.into_iter().filter(is_id).collect(),
            pairs: HashMap::new(),
            back: HashMap::new(),
        }
    }

    /// The ids in a script or JSON.
    pub(crate) fn in_script(script: &str) -> impl Iterator<Item = String> + '_ {
        IN_JSON.captures_iter(script).filter_map(|found| Some(found.get(1)?.as_str().to_owned()))
    }

    /// Whether both words are the same, or ids that may stand for each other.
    pub(crate) fn are_same(&mut self, before: &str, after: &str) -> bool {
        if before == after {
            return self.pair(before, after, false);
        }
        match parts(before, after, &|one, other| self.are_ids(one, other)) {
            Some(parts) => parts.into_iter().all(|(one, other)| self.pair(one, other, true)),
            None => false,
        }
    }

    fn are_ids(&self, before: &str, after: &str) -> bool {
        (self.before.contains(before) && self.after.contains(after))
            || (OF_ALTAIR.is_match(before) && OF_ALTAIR.is_match(after) && before[..5] == after[..5])
    }

    /// Whether they are a pair, or become one if `is_new`.
    fn pair(&mut self, before: &str, after: &str, is_new: bool) -> bool {
        match (self.pairs.get(before), self.back.get(after)) {
            (None, None) => {
                if is_new {
                    if [before, after].iter().any(|id| self.rerun.is_constant(id)) {
                        return false;
                    }
                    self.pairs.insert(before.to_owned(), after.to_owned());
                    self.back.insert(after.to_owned(), before.to_owned());
                }
                true
            }
            (Some(one), Some(other)) => one == after && other == before,
            _ => false,
        }
    }
}

/// The parts that have to be pairs for both words to be the same.
fn parts<'w>(
    before: &'w str,
    after: &'w str,
    are_ids: &dyn Fn(&str, &str) -> bool,
) -> Option<Vec<(&'w str, &'w str)>> {
    // A part of something with an id is named by both: the rest does not change.
    let ends = |word: &'w str| word.match_indices(['_', '-']).map(|(at, _)| at).filter(|at| *at > 0);
    for (at, other) in ends(before).flat_map(|at| ends(after).map(move |other| (at, other))) {
        let ((id, rest), (other, end)) = (before.split_at(at), after.split_at(other));
        if are_ids(id, other) {
            return (rest == end).then(|| vec![(id, other)]);
        }
    }
    if are_ids(before, after) {
        return Some(vec![(before, after)]);
    }
    let (one, other) = (random_parts(before), random_parts(after));
    let is_same_rest = rest(before, &one) == rest(after, &other);
    (!one.is_empty() && one.len() == other.len() && is_same_rest)
        .then(|| one.into_iter().zip(other).collect())
}

/// The UUIDs in a word. 32 digits alone may be a checksum, unless they are those of a random UUID.
fn random_parts(word: &str) -> Vec<&str> {
    let is_hex = |c: Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit());
    let found = RANDOM.find_iter(word).filter(|found| {
        let is_whole =
            !is_hex(word[..found.start()].chars().next_back()) && !is_hex(word[found.end()..].chars().next());
        let digits = found.as_str().as_bytes();
        let is_uuid = digits.len() == 36 || digits[12] == b'4' && b"89abAB".contains(&digits[16]);
        is_whole && (is_uuid || found.start() > 0)
    });
    found.map(|found| found.as_str()).collect()
}

fn rest(word: &str, parts: &[&str]) -> String {
    parts.iter().fold(word.to_owned(), |rest, part| rest.replacen(part, "\0", 1))
}
