//! Finds a name in text that is not parsed: of magics, of commands, and of cells that cannot be read.

use crate::magics::is_part;

/// Where a word stands on its own.
pub(super) fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> {
    text.match_indices(word).map(|(start, _)| start).filter(move |start| {
        !text[..*start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// Where a slice of a text starts in it. One that is none is at the end.
pub(super) fn offset(text: &str, slice: &str) -> usize {
    let start = (slice.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    if start <= text.len() { start } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_on_their_own() {
        assert_eq!(words("df dfs _df df.df", "df").collect::<Vec<_>>(), [0, 11, 14]);
        assert_eq!(words("édf dfé (df)", "df").collect::<Vec<_>>(), [11]);
    }

    #[test]
    fn braces_and_dollars_are_expanded() {
        let text = "cp {a.b} $c.d ${e} {{f}} $$g {h + 1";
        let found: Vec<_> = crate::magics::expansions(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["a.b", "c", "e"]);
    }
}
