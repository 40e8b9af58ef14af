//! HTML and SVG in a notebook, token by token.
//!
//! Whoever reads markup does it here: a tokenizer of HTML has seventy states, which would be in the program once for each crate.

use html5gum::emitters::default::DefaultEmitter;
pub use html5gum::{HtmlString, Spanned, State};
use html5gum::{StringReader, Tokenizer};

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
