//! Source code with its colours. Python's tokens are those of Ruff's parser; other languages are plain.

use notebook::visible;
use syntax::{Token, magics};

use crate::fragment::Fragment;

/// Writes source code. Characters that would hide or reorder it are shown as escapes.
pub(crate) fn source(source: &str, language: Option<&str>, html: &mut Fragment) {
    let is_python = language.is_some_and(|language| {
        matches!(language.to_ascii_lowercase().as_str(), "python" | "python3" | "py" | "ipython" | "ipython3")
    });
    // A cell magic such as %%bash makes the rest something else.
    let is_other = matches!(magics::split(source), magics::Cell::Other { .. });
    let tokens = if is_python && !is_other { syntax::tokens(source).unwrap_or_default() } else { Vec::new() };
    let mut written = 0;
    for (range, token) in tokens {
        // What the parser does not know has no token.
        let (Some(before), Some(text)) = (source.get(written..range.start), source.get(range.clone())) else {
            continue;
        };
        html.text(&visible(before));
        html.raw("<span class=\"").raw(class(token)).raw("\">").text(&visible(text)).raw("</span>");
        written = range.end;
    }
    html.text(&visible(source.get(written..).unwrap_or_default()));
}

fn class(token: Token) -> &'static str {
    match token {
        Token::Comment => "cb-comment",
        Token::String => "cb-string",
        Token::Number => "cb-number",
        Token::Magic => "cb-magic",
        Token::Definition => "cb-name",
        Token::Keyword => "cb-keyword",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(code: &str, language: &str) -> String {
        let mut html = Fragment::default();
        source(code, Some(language), &mut html);
        html.as_str().to_owned()
    }

    #[test]
    fn python_has_colours() {
        for (code, expected) in [
            ("x = 1", "x = <span class=\"cb-number\">1</span>"),
            ("# a<b", "<span class=\"cb-comment\"># a&lt;b</span>"),
            (
                "def f(): return None",
                "<span class=\"cb-keyword\">def</span> <span class=\"cb-name\">f</span>(): \
                 <span class=\"cb-keyword\">return</span> <span class=\"cb-number\">None</span>",
            ),
            ("%time x", "<span class=\"cb-magic\">%time x</span>"),
            ("%%bash\nfor", "%%bash\nfor"),
            ("type = 'é'", "type = <span class=\"cb-string\">&#39;é&#39;</span>"),
            (
                "match x:\n case 1: ...",
                "<span class=\"cb-keyword\">match</span> x:\n <span class=\"cb-keyword\">case</span> \
                 <span class=\"cb-number\">1</span>: ...",
            ),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(written(code, "python"), expected, "{code}");
        }
    }

    #[test]
    fn other_languages_are_plain() {
        assert_eq!(written("def <- 1", "R"), "def &lt;- 1");
    }

    proptest! {
        #[test]
        fn no_character_is_lost(code in "[ -~\n\té\"'f{}#()]{0,60}") {
            let shown = written(&code, "python");
            let mut plain = String::new();
            let mut is_tag = false;
            for character in shown.chars() {
                match character {
                    '<' => is_tag = true,
                    '>' => is_tag = false,
                    _ if !is_tag => plain.push(character),
                    _ => {}
                }
            }
            let mut expected = String::new();
            crate::fragment::escape(&code, &mut expected);
            prop_assert_eq!(plain, expected);
        }
    }
}
