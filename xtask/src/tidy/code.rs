//! A Rust file as the rules see it: tokens with their lines, without comments and without test code.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The tokens of a file.
#[derive(Default)]
pub(crate) struct Code {
    tokens: Vec<Token>,
    /// Modules declared as `#[cfg(test)] mod name;`, whose files hold test code only.
    test_modules: Vec<String>,
}

/// A token; `::` is one.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) kind: TokenKind,
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Literal,
    Mark,
    Open,
    Close,
}

impl Code {
    /// Reads a file's text.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let stream = TokenStream::from_str(text).map_err(|error| anyhow!("not Rust: {error}"))?;
        let mut code = Self::default();
        code.collect(stream);
        Ok(code)
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub(crate) fn test_modules(&self) -> &[String] {
        &self.test_modules
    }

    /// Calls of macros: the name's token and what stands first between the brackets.
    pub(crate) fn macro_calls(&self) -> impl Iterator<Item = (&Token, Option<&Token>)> {
        self.tokens.windows(3).enumerate().filter_map(|(index, window)| match window {
            [name, mark, open]
                if name.kind == TokenKind::Word && mark.text == "!" && open.kind == TokenKind::Open =>
            {
                Some((name, self.tokens.get(index + 3)))
            }
            _ => None,
        })
    }

    fn collect(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut index = 0;
        while index < trees.len() {
            match attribute(&trees[index..]) {
                Some((attribute, length)) if is_test_only(&attribute) => {
                    let is_inner = length == 3;
                    if is_inner {
                        return;
                    }
                    index += length;
                    index += self.skip_item(&trees[index..]);
                }
                // Doc comments arrive as attributes.
                Some((attribute, length)) if first_word(&attribute).as_deref() == Some("doc") => {
                    index += length;
                }
                _ => {
                    index += self.push(&trees[index..]);
                }
            }
        }
    }

    /// Takes over the first tree, or two for `::`; returns how many.
    fn push(&mut self, trees: &[TokenTree]) -> usize {
        let line = trees[0].span().start().line;
        let (text, kind) = match &trees[0] {
            TokenTree::Group(group) => {
                self.push_group(group);
                return 1;
            }
            TokenTree::Ident(word) => (word.to_string().trim_start_matches("r#").to_owned(), TokenKind::Word),
            TokenTree::Literal(literal) => (literal.to_string(), TokenKind::Literal),
            TokenTree::Punct(mark) => {
                let doubled = mark.as_char() == ':'
                    && mark.spacing() == Spacing::Joint
                    && matches!(trees.get(1), Some(TokenTree::Punct(next)) if next.as_char() == ':');
                if doubled {
                    self.tokens.push(Token { text: "::".to_owned(), kind: TokenKind::Mark, line });
                    return 2;
                }
                (mark.as_char().to_string(), TokenKind::Mark)
            }
        };
        self.tokens.push(Token { text, kind, line });
        1
    }

    fn push_group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::None => ("", ""),
        };
        let token = |text: &str, kind, line| Token { text: text.to_owned(), kind, line };
        self.tokens.push(token(open, TokenKind::Open, group.span_open().start().line));
        self.collect(group.stream());
        self.tokens.push(token(close, TokenKind::Close, group.span_close().start().line));
    }

    /// The length of the item that a `#[cfg(test)]` stands before.
    fn skip_item(&mut self, trees: &[TokenTree]) -> usize {
        let mut words = trees.iter().filter_map(|tree| match tree {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        });
        let module = words.find(|word| word != "pub").filter(|word| word == "mod").and_then(|_| words.next());
        for (index, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    self.test_modules.extend(module);
                    return index + 1;
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return index + 1,
                _ => {}
            }
        }
        trees.len()
    }
}

/// The content of the attribute at the start of `trees`, and how many trees it takes.
fn attribute(trees: &[TokenTree]) -> Option<(TokenStream, usize)> {
    let mark = |tree: Option<&TokenTree>, wanted| matches!(tree, Some(TokenTree::Punct(it)) if it.as_char() == wanted);
    if !mark(trees.first(), '#') {
        return None;
    }
    let at = if mark(trees.get(1), '!') { 2 } else { 1 };
    match trees.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
            Some((group.stream(), at + 1))
        }
        _ => None,
    }
}

fn first_word(stream: &TokenStream) -> Option<String> {
    match stream.clone().into_iter().next() {
        Some(TokenTree::Ident(word)) => Some(word.to_string()),
        _ => None,
    }
}

/// `cfg(test)`, or a `cfg(all(test, …))`: what no shipped build contains.
fn is_test_only(attribute: &TokenStream) -> bool {
    if first_word(attribute).as_deref() != Some("cfg") {
        return false;
    }
    let condition = attribute.to_string().replace(' ', "");
    condition == "cfg(test)" || condition.starts_with("cfg(all(test,")
}
