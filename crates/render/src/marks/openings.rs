//! How messages of the program start.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One in a line, in lower case: words, `*` for words that are filled in, and `$` for the end of the line. A test derives them from the
/// messages of all crates.
const LIST: &str = include_str!("openings.txt");
/// The most words that `*` stands for at the start, and elsewhere.
const MAX_FIRST: usize = 3;
const MAX_FILLED: usize = 8;

type Rest = Vec<&'static str>;

/// What follows the first word that is not `*`, by this word.
#[derive(Default)]
struct Openings {
    at_start: HashMap<&'static str, Vec<Rest>>,
    after_any: HashMap<&'static str, Vec<Rest>>,
}

static OPENINGS: LazyLock<Openings> = LazyLock::new(|| {
    let mut openings = Openings::default();
    for line in LIST.lines() {
        let mut words = line.split(' ');
        let Some(first) = words.next() else { continue };
        match (first, words.next()) {
            ("*", Some(second)) => openings.after_any.entry(second).or_default().push(words.collect()),
            (first, second) => {
                openings.at_start.entry(first).or_default().push(second.into_iter().chain(words).collect());
            }
        }
    }
    openings
});

/// Whether a line starts like a message.
pub(super) fn is_opening(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut is_after_any = false;
    for _ in 0..=MAX_FIRST {
        let Some(word) = words.next() else { return false };
        let openings = if is_after_any { &OPENINGS.after_any } else { &OPENINGS.at_start };
        let rests = openings.get(&*word.to_ascii_lowercase());
        if rests.is_some_and(|rests| rests.iter().any(|rest| matches(rest, words.clone()))) {
            return true;
        }
        is_after_any = true;
    }
    false
}

fn matches<'l>(opening: &[&str], mut words: impl Iterator<Item = &'l str> + Clone) -> bool {
    match opening.split_first() {
        None => true,
        Some((&"$", _)) => words.next().is_none(),
        Some((&"*", rest)) => (0..MAX_FILLED).any(|_| words.next().is_some() && matches(rest, words.clone())),
        Some((first, rest)) => {
            words.next().is_some_and(|word| word.eq_ignore_ascii_case(first)) && matches(rest, words)
        }
    }
}
