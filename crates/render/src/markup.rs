//! Reads HTML and SVG tag by tag.
//!
//! A tree would take ten times the memory and recursion, and nothing here needs one.

use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) use notebook::markup::State;
use notebook::markup::{HtmlString, Spanned, Token, Tokens};

pub(crate) enum Part {
    Text(String),
    Tag(Tag),
    /// Its character references are not decoded.
    Comment(String),
}

pub(crate) struct Tag {
    /// In lower case, like the names of attributes.
    pub(crate) name: String,
    pub(crate) is_start: bool,
    /// Whether it ends with `/>`, which means something in SVG only.
    pub(crate) is_self_closing: bool,
    /// Where it stands in the markup, in bytes.
    pub(crate) place: Range<usize>,
    attributes: BTreeMap<HtmlString, Spanned<HtmlString>>,
}

impl Tag {
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.attributes.get(name.as_bytes()).map(|value| text(value))
    }
}

/// Gives the first `limit` bytes of `markup` to `take`, part by part, and returns the number of bytes that were not read. After the
/// start of an element that contains no markup, `take` returns how its content is read; usually a tree builder knows that.
pub(crate) fn read(markup: &str, limit: usize, mut take: impl FnMut(Part) -> Option<State>) -> usize {
    let read = &markup[..boundary(markup, limit)];
    let mut tokens = Tokens::of(read);
    while let Some(token) = tokens.next() {
        let part = match token {
            Token::String(found) => Part::Text(text(&found)),
            Token::Comment(found) => Part::Comment(text(&found)),
            Token::StartTag(tag) => Part::Tag(Tag {
                name: text(&tag.name),
                is_start: true,
                is_self_closing: tag.self_closing,
                place: tag.span.start..tag.span.end,
                attributes: tag.attributes,
            }),
            Token::EndTag(tag) => Part::Tag(Tag {
                name: text(&tag.name),
                is_start: false,
                is_self_closing: false,
                place: tag.span.start..tag.span.end,
                attributes: BTreeMap::new(),
            }),
            Token::Doctype(_) | Token::Error(_) => continue,
        };
        if let Some(state) = take(part) {
            tokens.set_state(state);
        }
    }
    markup.len() - read.len()
}

/// The text of short markup, with its character references decoded.
pub(crate) fn decoded(markup: &str) -> String {
    let mut decoded = String::new();
    read(markup, markup.len(), |part| {
        if let Part::Text(text) = part {
            decoded.push_str(&text);
        }
        None
    });
    decoded
}

fn text(bytes: &HtmlString) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last character boundary up to `limit`.
fn boundary(text: &str, limit: usize) -> usize {
    let limit = limit.min(text.len());
    (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
