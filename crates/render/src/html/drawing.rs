//! SVG within HTML: pictures, and what only decorates a page.

use notebook::markup::Tag;

use crate::svg;

/// Smaller drawings without text are icons, in CSS pixels.
const MIN_SIDE: f64 = 40.0;
/// The largest drawing that is read, in bytes.
const MAX_SIZE: usize = 8 * 1024 * 1024;

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
        let is_small = !svg::sides(tag).iter().flatten().any(|side| *side >= MIN_SIDE);
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
        svg::svg_file(content)
    }
}
