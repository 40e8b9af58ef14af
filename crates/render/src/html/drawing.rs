//! SVG within HTML: pictures, and what only decorates a page.

use crate::markup::Tag;

/// Smaller drawings without text are icons, in CSS pixels.
const MIN_SIDE: f64 = 40.0;
/// The largest drawing that is read, in bytes.
const MAX_SIZE: usize = 8 * 1024 * 1024;
/// What a file needs and HTML does not: how it is found, and how it is declared.
const NAMESPACES: [(&str, &str); 2] = [
    ("xmlns=", " xmlns=\"http://www.w3.org/2000/svg\""),
    ("xmlns:xlink=", " xmlns:xlink=\"http://www.w3.org/1999/xlink\""),
];

/// An open `<svg>`.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Where its text starts in the text of the page.
    pub(super) text: usize,
    /// Where it starts in the HTML, and where its name ends there.
    start: usize,
    /// The `<svg>` elements that are open within it.
    inner: usize,
    is_decoration: bool,
    /// Whether HTML stands in it, which only a browser can draw.
    has_html: bool,
}

impl Drawing {
    pub(super) fn new(tag: &Tag, text: usize) -> Self {
        let side = |name: &str| number(&tag.attribute(name)?);
        let seen = tag.attribute("viewbox").unwrap_or_default();
        let mut seen = seen.split([' ', ',']).filter(|part| !part.is_empty()).skip(2).map(number);
        let seen = (seen.next().flatten(), seen.next().flatten());
        let sides = [side("width").or(seen.0), side("height").or(seen.1)];
        let is_small = !sides.iter().flatten().any(|side| *side >= MIN_SIDE);
        let is_icon = tag.attribute("aria-hidden").is_some_and(|value| value == "true")
            || tag.attribute("class").is_some_and(|class| class.contains("icon"));
        Self { text, start: tag.place.start, inner: 0, is_decoration: is_small || is_icon, has_html: false }
    }

    pub(super) fn opens(&mut self, tag: &Tag) {
        self.inner += usize::from(!tag.is_self_closing);
    }

    /// Whether the end of an `<svg>` is its own.
    pub(super) fn closes(&mut self) -> bool {
        let is_own = self.inner == 0;
        self.inner = self.inner.saturating_sub(1);
        is_own
    }

    pub(super) fn has_html(&mut self) {
        self.has_html = true;
    }

    /// The drawing as a file, if it is a picture and ends with the tag `end`.
    pub(super) fn content(&self, html: &str, end: &Tag, has_text: bool) -> Option<String> {
        if self.has_html || self.is_decoration && !has_text {
            return None;
        }
        let content = html.get(self.start..end.place.end).filter(|content| content.len() <= MAX_SIZE)?;
        let name = content.get(.."<svg".len()).filter(|name| name.eq_ignore_ascii_case("<svg"))?;
        let rest = content[name.len()..].strip_suffix('>')?;
        let opening = &rest[..rest.find('>').unwrap_or(rest.len())];
        let lacking = NAMESPACES.iter().filter(|(name, _)| {
            let is_needed = !name.contains("xlink") || rest.contains("xlink:");
            is_needed && !opening.contains(name)
        });
        let declared: String = lacking.map(|(_, declaration)| *declaration).collect();
        Some(format!("<svg{declared}{rest}>"))
    }
}

/// The number at the start of a length; none for a percentage.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|byte: char| !byte.is_ascii_digit() && byte != '.').unwrap_or(text.len());
    if text[end..].starts_with('%') { None } else { text[..end].parse().ok() }
}
