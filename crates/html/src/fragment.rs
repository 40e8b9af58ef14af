//! HTML that grows only by literals of this crate and by escaped text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::Library;

/// A part of a page, and what it needs of the page.
///
/// Its text grows by literals, which are balanced with what the caller writes next, and by text that is escaped here. So no text of a
/// notebook becomes markup unless `sanitize` wrote it, whichever crate writes the fragment.
#[derive(Debug, Default)]
pub struct Fragment {
    html: String,
    /// The hashes of the scripts in its frames, as `Content-Security-Policy` names them.
    pub(crate) scripts: BTreeSet<String>,
    /// The libraries that its frames draw with.
    pub(crate) libraries: BTreeSet<Library>,
    /// How many outputs would be interactive in a frame.
    pub(crate) interactive: usize,
    /// The libraries that such outputs lack.
    pub(crate) missing: BTreeSet<Library>,
}

impl Fragment {
    pub fn as_str(&self) -> &str {
        &self.html
    }

    /// How many outputs have a static form here and would be interactive in a frame.
    pub fn interactive(&self) -> usize {
        self.interactive
    }

    /// Writes markup of this program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.html.push_str(markup);
        self
    }

    /// Writes text of anybody.
    pub fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.html);
        self
    }

    /// Writes a number.
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.html, "{}", number.into());
        self
    }

    /// Writes an attribute into the tag that is open.
    pub fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"").text(value).raw("\"")
    }

    /// Writes text that is not escaped, because `sanitize`, `frame` or `page` made it.
    pub(crate) fn trusted(&mut self, html: &str) -> &mut Self {
        self.html.push_str(html);
        self
    }

    /// Writes another fragment.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.html.push_str(&other.html);
        self.scripts.extend(other.scripts);
        self.libraries.extend(other.libraries);
        self.interactive += other.interactive;
        self.missing.extend(other.missing);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.html.is_empty()
    }
}

/// The hash by which a policy allows a script.
pub(crate) fn script_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

/// Escapes text for an element or a quoted attribute. Characters that HTML does not allow become U+FFFD.
pub(crate) fn escape(text: &str, into: &mut String) {
    into.reserve(text.len());
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            // Templates of frameworks start with two; older browsers end an attribute with the other.
            '`' => into.push_str("&#96;"),
            '\r' => into.push_str("&#13;"),
            _ => into.push(allowed(character)),
        }
    }
}

/// The character, or what stands for control characters and noncharacters, which a valid page does not contain.
pub(crate) fn allowed(character: char) -> char {
    let is_forbidden = (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{fdd0}'..='\u{fdef}')
        || u32::from(character) & 0xfffe == 0xfffe;
    if is_forbidden { '\u{fffd}' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        let mut html = Fragment::default();
        html.raw("<p").attribute("title", "\"><script>'`\u{0}").raw(">").text("a<b>&\u{1b}\n").raw("</p>");
        assert_eq!(
            html.as_str(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;&#96;\u{fffd}\">a&lt;b&gt;&amp;\u{fffd}\n</p>"
        );
    }

    #[test]
    fn a_script_is_named_by_its_hash() {
        assert_eq!(script_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
