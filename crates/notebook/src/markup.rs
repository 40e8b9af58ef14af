//! HTML and SVG in a notebook, part by part.
//!
//! Whoever reads markup does it here: a tokenizer of HTML has seventy states, which would be in the program once for each crate. A tree
//! would take ten times the memory and recursion, and nothing needs one.

use std::collections::BTreeMap;
use std::ops::Range;

use html5gum::emitters::default::DefaultEmitter;
pub use html5gum::{HtmlString, State};
use html5gum::{Spanned, StringReader, Tokenizer};

/// A token with its place in the markup, in bytes.
pub type Token = html5gum::Token<usize>;

pub struct Tokens<'m>(Tokenizer<StringReader<'m>, DefaultEmitter<usize>>);

impl<'m> Tokens<'m> {
    pub fn of(markup: &'m str) -> Self {
        Self(Tokenizer::new_with_emitter(markup, DefaultEmitter::new_with_span()))
    }

    /// How the content of the element that has just started is read; usually a tree builder knows that.
    pub fn set_state(&mut self, state: State) {
        self.0.set_state(state);
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    #[inline(never)]
    fn next(&mut self) -> Option<Token> {
        let Ok(token) = self.0.next()?;
        Some(token)
    }
}

#[derive(Debug)]
pub enum Part {
    Text(String),
    Tag(Tag),
    /// Its character references are not decoded.
    Comment(String),
}

#[derive(Debug)]
pub struct Tag {
    /// In lower case, like the names of attributes.
    pub name: String,
    pub is_start: bool,
    /// Whether it ends with `/>`, which means something in SVG only.
    pub is_self_closing: bool,
    /// Its position in the markup, in bytes.
    pub place: Range<usize>,
    attributes: BTreeMap<HtmlString, Spanned<HtmlString>>,
}

impl Tag {
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes.get(name.as_bytes()).map(|value| text(value))
    }

    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name.as_bytes())
    }

    /// All attributes with their values.
    pub fn attributes(&self) -> impl Iterator<Item = (String, String)> {
        self.attributes.iter().map(|(name, value)| (text(name), text(value)))
    }
}

/// Gives `markup` to `take`, part by part. After the start of an element that contains no markup, `take` returns how its content is
/// read; see [`raw_text`].
pub fn read(markup: &str, mut take: impl FnMut(Part) -> Option<State>) {
    let mut tokens = Tokens::of(markup);
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
}

/// A browser's reading of the content of an HTML element that holds no markup.
pub fn raw_text(name: &str) -> Option<State> {
    match name {
        "script" => Some(State::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => Some(State::RawText),
        "title" | "textarea" => Some(State::RcData),
        "plaintext" => Some(State::PlainText),
        _ => None,
    }
}

/// The text of short markup, with its character references decoded.
pub fn decoded(markup: &str) -> String {
    let mut decoded = String::new();
    read(markup, |part| {
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
