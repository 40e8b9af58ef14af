//! The tokens of a source, for its colours.

use std::ops::Range;

use ruff_python_ast::PySourceType;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::Ranged;

use crate::parse::bounded;
use crate::unknown::Unknown;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Comment,
    String,
    /// Also `None`, `True` and `False`.
    Number,
    Magic,
    /// The name in a definition, and the `@` of a decorator.
    Definition,
    Keyword,
}

/// The tokens that are not plain text, in order, also of a source with syntax errors.
pub fn tokens(source: &str) -> Result<Vec<(Range<usize>, Token)>, Unknown> {
    bounded(source, || {
        let parsed = parse_unchecked_source(source, PySourceType::Ipynb);
        let mut previous = TokenKind::Newline;
        let mut tokens = Vec::new();
        for token in parsed.tokens() {
            if let Some(kind) = kind(token.kind(), previous) {
                tokens.push((token.start().to_usize()..token.end().to_usize(), kind));
            }
            previous = token.kind();
        }
        tokens
    })
}

fn kind(kind: TokenKind, previous: TokenKind) -> Option<Token> {
    let is_first = matches!(
        previous,
        TokenKind::Newline | TokenKind::NonLogicalNewline | TokenKind::Indent | TokenKind::Dedent
    );
    match kind {
        TokenKind::Comment => Some(Token::Comment),
        TokenKind::String
        | TokenKind::FStringStart
        | TokenKind::FStringMiddle
        | TokenKind::FStringEnd
        | TokenKind::TStringStart
        | TokenKind::TStringMiddle
        | TokenKind::TStringEnd => Some(Token::String),
        TokenKind::Int | TokenKind::Float | TokenKind::Complex => Some(Token::Number),
        TokenKind::IpyEscapeCommand => Some(Token::Magic),
        TokenKind::Name if matches!(previous, TokenKind::Def | TokenKind::Class) => Some(Token::Definition),
        TokenKind::At if is_first => Some(Token::Definition),
        kind if kind.is_singleton() => Some(Token::Number),
        // The parser has made names of `match` and `type` where they are.
        kind if kind.is_keyword() => Some(Token::Keyword),
        _ => None,
    }
}
