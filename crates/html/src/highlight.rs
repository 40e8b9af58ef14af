//! Source code with its colours. Python's tokens are those of Ruff's parser; other languages are plain.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use notebook::visible;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged as _;

use crate::fragment::Fragment;

/// A longer source is data rather than code, in bytes.
const MAX_LENGTH: usize = 64 * 1024;
/// Deeper code is plain. Python's own parser refuses it.
const MAX_DEPTH: usize = 200;

/// Writes source code. Characters that would hide or reorder it are shown as escapes.
pub(crate) fn source(source: &str, language: Option<&str>, html: &mut Fragment) {
    let is_python = language.is_some_and(|language| {
        matches!(language.to_ascii_lowercase().as_str(), "python" | "python3" | "py" | "ipython" | "ipython3")
    });
    // A cell magic such as %%bash makes the rest something else.
    let is_other = source.trim_start().starts_with("%%") && !is_magic_with_python(source);
    let is_read = is_python && !is_other && source.len() <= MAX_LENGTH && !is_deep(source);
    let tokens = is_read.then(|| tokens(source)).flatten();
    let mut written = 0;
    for (range, class) in tokens.unwrap_or_default() {
        // What the parser does not know has no token.
        let (Some(before), Some(token)) = (source.get(written..range.start), source.get(range.clone()))
        else {
            continue;
        };
        html.text(&visible(before));
        html.raw("<span class=\"").raw(class).raw("\">").text(&visible(token)).raw("</span>");
        written = range.end;
    }
    html.text(&visible(source.get(written..).unwrap_or_default()));
}

fn is_magic_with_python(source: &str) -> bool {
    let name = source.split_whitespace().next().unwrap_or_default();
    matches!(name, "%%time" | "%%timeit" | "%%capture" | "%%prun")
}

/// The coloured parts with their classes, in order.
fn tokens(source: &str) -> Option<Vec<(Range<usize>, &'static str)>> {
    let read = || {
        let parsed = parse_unchecked(source, ParseOptions::from(Mode::Ipython));
        let mut previous = TokenKind::Newline;
        let mut tokens = Vec::new();
        for token in parsed.tokens() {
            if let Some(class) = class(token.kind(), previous) {
                tokens.push((token.start().to_usize()..token.end().to_usize(), class));
            }
            previous = token.kind();
        }
        tokens
    };
    // A panic would be an error in the parser, which must not end the program.
    catch_unwind(AssertUnwindSafe(|| names::with_stack(read))).ok()
}

/// Whether more brackets are open at once than the parser's stack is made for.
fn is_deep(source: &str) -> bool {
    let mut open = 0_usize;
    source.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MAX_DEPTH
    })
}

fn class(kind: TokenKind, previous: TokenKind) -> Option<&'static str> {
    let is_first = matches!(
        previous,
        TokenKind::Newline | TokenKind::NonLogicalNewline | TokenKind::Indent | TokenKind::Dedent
    );
    match kind {
        TokenKind::Comment => Some("cb-comment"),
        TokenKind::String
        | TokenKind::FStringStart
        | TokenKind::FStringMiddle
        | TokenKind::FStringEnd
        | TokenKind::TStringStart
        | TokenKind::TStringMiddle
        | TokenKind::TStringEnd => Some("cb-string"),
        TokenKind::Int | TokenKind::Float | TokenKind::Complex => Some("cb-number"),
        TokenKind::IpyEscapeCommand => Some("cb-magic"),
        TokenKind::Name if matches!(previous, TokenKind::Def | TokenKind::Class) => Some("cb-name"),
        TokenKind::At if is_first => Some("cb-name"),
        kind if kind.is_singleton() => Some("cb-number"),
        // The parser has made names of `match` and `type` where they are.
        kind if kind.is_keyword() => Some("cb-keyword"),
        _ => None,
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
