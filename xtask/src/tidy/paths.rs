//! The paths that a file names: `std::env::var`, and each of `std::{env, fs::{self, File}}`.

use super::code::{Code, Token, TokenKind};

/// A path such as `std::env::var`, taken apart.
pub(crate) struct NamedPath {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

impl NamedPath {
    /// Whether the path begins with `prefix`.
    pub(crate) fn begins_with(&self, prefix: &[&str]) -> bool {
        self.segments.len() >= prefix.len()
            && self.segments.iter().zip(prefix).all(|(own, other)| own == other)
    }
}

/// Every path with at least two segments, `use` groups spelled out.
pub(crate) fn named(code: &Code) -> Vec<NamedPath> {
    let mut reader = Reader { tokens: code.tokens(), found: Vec::new() };
    let mut index = 0;
    while let Some(token) = reader.tokens.get(index) {
        index = if token.kind == TokenKind::Word { reader.path(index, &[]) } else { index + 1 };
    }
    reader.found
}

struct Reader<'code> {
    tokens: &'code [Token],
    found: Vec<NamedPath>,
}

impl Reader<'_> {
    /// Reads the path that starts at the word at `index`; returns where reading goes on.
    fn path(&mut self, mut index: usize, prefix: &[String]) -> usize {
        let line = self.tokens[index].line;
        let mut segments = prefix.to_vec();
        loop {
            segments.push(self.tokens[index].text.clone());
            let joined = self.tokens.get(index + 1).is_some_and(|token| token.text == "::");
            match self.tokens.get(index + 2) {
                Some(next) if joined && next.kind == TokenKind::Word => index += 2,
                Some(next) if joined && next.text == "{" => {
                    return self.path_group(index + 3, &segments);
                }
                _ => break,
            }
        }
        if segments.len() > 1 {
            self.found.push(NamedPath { segments, line });
        }
        index + 1
    }

    /// Reads the paths between the braces of a `use`.
    fn path_group(&mut self, mut index: usize, prefix: &[String]) -> usize {
        let mut expected = true;
        while let Some(token) = self.tokens.get(index) {
            match token.kind {
                TokenKind::Close => return index + 1,
                TokenKind::Word if expected => {
                    index = self.path(index, prefix);
                    expected = false;
                    continue;
                }
                // After `as` comes a new name, not a path.
                TokenKind::Word => {}
                _ => expected = expected || token.text == ",",
            }
            index += 1;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let code = Code::parse(text).unwrap();
        named(&code).into_iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        assert_eq!(
            paths("use std::{env as e, fs::{self, File}, io::*};"),
            ["std::env", "std::fs::self", "std::fs::File", "std::io"]
        );
    }

    #[test]
    fn expressions_hold_paths_and_words_alone_are_none() {
        assert_eq!(paths("fn f() { ::a::b(c, d::e::<G>(r#h)); }"), ["a::b", "d::e"]);
    }

    #[test]
    fn a_prefix_is_of_whole_segments() {
        let code = Code::parse("use std::environment;").unwrap();
        assert!(named(&code)[0].begins_with(&["std"]));
        assert!(!named(&code)[0].begins_with(&["std", "env"]));
        assert!(!named(&code)[0].begins_with(&["std", "environment", "x"]));
    }
}
