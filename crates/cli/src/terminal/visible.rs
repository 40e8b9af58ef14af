//! Characters that a person would not see, or that would change how the text around them looks, as escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with each hidden character as `\u{…}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, |escaped, c| escaped.extend(c.escape_unicode()))
}

/// The same, without line breaks and tabs.
pub(super) fn on_one_line(text: &str) -> Cow<'_, str> {
    let is_hidden = |c| is_hidden(c) || matches!(c, '\n' | '\t');
    escaped(text, is_hidden, |escaped, c| escaped.extend(c.escape_unicode()))
}

/// The same of JSON, in which only strings contain such characters. It means the same as before.
pub(super) fn in_json(json: &str) -> Cow<'_, str> {
    escaped(json, is_hidden, |escaped, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    })
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            escape(&mut visible, c);
        } else {
            visible.push(c);
        }
    }
    Cow::Owned(visible)
}

/// Control characters, those of bidirectional text, and those without a width.
fn is_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_the_text_is_seen() {
        for (text, expected) in [
            ("-old\r\u{1b}[2K+new", "-old\\u{d}\\u{1b}[2K+new"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m\u{85}\u{7f}\u{8}", "\\u{9b}31m\\u{85}\\u{7f}\\u{8}"),
            ("\u{202e}cod.exe\u{2069}\u{200b}\u{feff}", "\\u{202e}cod.exe\\u{2069}\\u{200b}\\u{feff}"),
            ("a\u{2028}b\u{e0041}", "a\\u{2028}b\\u{e0041}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn other_text_is_as_it_was() {
        for text in ["a\n\tb", "naïve 日本 עברית 🎉", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}2K\u{7f}\u{e0041}\u{1b}é" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = in_json(&text);
        assert!(shown.chars().all(|c| !is_hidden(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
