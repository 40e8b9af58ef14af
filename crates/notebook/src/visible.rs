//! Makes characters visible that could hide or change what a text of a file or a kernel says.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character shows nothing itself, and can hide others, reorder them, or end a line: control characters but `\n` and
/// `\t`, Unicode's line separators, marks of direction, and characters without width. Joiners, which words and emoji need, are
/// not hidden.
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

/// A name, a path or a message as one line: line breaks and hidden characters as escapes, such as `\n` and `\u{202e}`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |character| is_hidden(character) || matches!(character, '\n' | '\t'))
}

/// A text with its hidden characters as escapes, such as `\u{1b}`; its lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Most texts have nothing else, and every reply goes through here.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        // Writing to a string cannot fail.
        let _ = match character {
            '\n' | '\t' if is_escaped(character) => write!(result, "{}", character.escape_default()),
            _ if is_escaped(character) => write!(result, "{}", character.escape_unicode()),
            _ => result.write_char(character),
        };
    }
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_one_line() {
        assert_eq!(one_line("a\n[NOTICE] b.ipynb"), "a\\n[NOTICE] b.ipynb");
        assert_eq!(one_line("a\u{202e}b\x1b[2J\u{2028}\u{85}"), "a\\u{202e}b\\u{1b}[2J\\u{2028}\\u{85}");
        assert!(matches!(one_line("Größe 👩‍💻.ipynb"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_and_tabs_of_a_text_stay() {
        assert_eq!(visible("a\tb\nc\r\u{200b}"), "a\tb\nc\\u{d}\\u{200b}");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            prop_assert!(!one_line(&text).contains(is_hidden));
            prop_assert!(!one_line(&text).contains(['\n', '\t']));
        }
    }
}
