//! Comments that open with a question word, and bindings named by a participle alone: both leave the reader to guess the noun.

/// The words that no comment opens with.
const QUESTIONS: [&str; 7] = ["How", "What", "Where", "Which", "Who", "Whose", "Why"];
const PARTICIPLES: [&str; 5] = ["found", "given", "known", "shown", "told"];

/// The lines that break a rule.
pub(super) fn count(lines: &[&str]) -> usize {
    let is_comment = |index: usize| lines[index].trim_start().starts_with("//");
    let breaks = |index: &usize| match is_comment(*index) {
        true if *index > 0 && is_comment(index - 1) => false,
        true => opens_with_question(&lines[*index..]),
        false => binds_participle(lines[*index]),
    };
    (0..lines.len()).filter(breaks).count()
}

/// Whether a comment, which the lines begin with, opens with a question word. `Whether` may stand before a `bool`.
fn opens_with_question(lines: &[&str]) -> bool {
    let text = lines[0].trim_start().trim_start_matches(['/', '!']).trim_start();
    let word = text.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
    if word != "Whether" {
        return QUESTIONS.contains(&word);
    }
    let item: Vec<_> = lines.iter().skip_while(|line| line.trim_start().starts_with(['/', '#'])).collect();
    let is_end = |line: &&&str| line.ends_with(['{', ';']);
    let is_field = item.first().is_some_and(|line| line.ends_with(','));
    let end = if is_field { 1 } else { item.iter().position(is_end).map_or(0, |end| end + 1) };
    !item[..end].iter().any(|line| line.to_lowercase().contains("bool"))
}

/// Whether a line of code gives a participle to a variable, a parameter or a field.
fn binds_participle(line: &str) -> bool {
    PARTICIPLES.iter().any(|word| {
        line.match_indices(word).any(|(start, _)| {
            let (before, after) = (&line[..start], &line[start + word.len()..]);
            let is_part = |letter: char| letter.is_alphanumeric() || "_.\"{'".contains(letter);
            if before.ends_with(is_part)
                || after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            {
                return false;
            }
            let is_typed = after.starts_with(": ");
            let is_in_let = before.contains("let ") && !before.contains(" = ") && after.contains('=');
            let is_in_arm = before.trim_start().len() < before.len()
                && after.contains(" => ")
                && !before.contains(" if ");
            let is_in_closure =
                before.matches('|').count() % 2 == 1 && after.contains('|') && !before.contains("||");
            is_typed || is_in_let || is_in_arm || is_in_closure || before.trim_start() == "for "
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_open_with_a_question_are_found() {
        for line in ["//! Which cell.", "/// How many.", "    // Where it is.", "/// Whether it is."] {
            assert_eq!(count(&[line, "fn a() -> u8 {"]), 1, "{line}");
        }
        for line in ["/// Whether it is.", "/// The number.", "// Whatever comes.", "/// `What` is."] {
            assert_eq!(count(&[line, "#[must_use]", "pub fn a(", "    b: u8,", ") -> bool {"]), 0, "{line}");
        }
        assert_eq!(count(&["/// Whether it is.", "a: AtomicBool,", "b: u8,"]), 0);
        assert_eq!(count(&["/// The number:", "/// Which is.", "a: u8,"]), 0, "a line that goes on");
    }

    #[test]
    fn bindings_that_are_participles_alone_are_found() {
        for line in [
            "let found = x;",
            "if let Some(known) = x {",
            "    Some(known) => x,",
            "    shown: usize,",
            "fn a(b: u8, given: u8) {",
            "x.map(|known| 1)",
            "x.filter(|(a, found)| 1)",
            "for told in x {",
        ] {
            assert_eq!(count(&[line]), 1, "{line}");
        }
        for line in [
            "let a = found(x);",
            "x.known = 1;",
            "\"found: {found}\"",
            "let known_ids = x;",
            "Ok(found)",
            "x || found",
        ] {
            assert_eq!(count(&[line]), 0, "{line}");
        }
    }
}
