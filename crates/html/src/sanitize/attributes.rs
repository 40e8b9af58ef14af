//! Which attributes are written, and images, sounds and films, whose addresses are attributes.

use notebook::markup::Tag;

use super::elements::{Element, Kind};
use super::style::declarations;
use super::{Writer, sheet};
use crate::picture;
use crate::url::{self, Link};

/// A length in pixels or percent, as a declaration.
fn length(tag: &Tag, name: &'static str) -> Option<String> {
    let value = tag.attribute(name)?;
    let value = value.trim().trim_end_matches("px");
    let (digits, unit) = value.strip_suffix('%').map_or((value, "px"), |digits| (digits, "%"));
    let number: f32 = digits.parse().ok().filter(|number| (0.0..=10_000.0).contains(number))?;
    Some(format!("{name}:{number}{unit};"))
}

/// The numbers that some elements need.
const NUMBERS: &str = include_str!("attributes/numbers.txt");

impl Writer<'_> {
    /// Writes the start tag.
    pub(super) fn write_tag(&mut self, element: &Element, written: &'static str, tag: &Tag) {
        self.html.raw("<").raw(written);
        if written == "span" && element.kind != Kind::Inline {
            self.html.raw(" class=\"cb-block\"");
        }
        self.write_id(element, tag);
        for (name, elements) in NUMBERS.lines().filter_map(|line| line.split_once(' ')) {
            let number = tag.attribute(name).and_then(|value| value.trim().parse::<f64>().ok());
            if elements.split(' ').any(|element| element == written)
                && let Some(number) = number.filter(|number| number.abs() <= 1e6)
            {
                self.html.attribute(name, &number.to_string());
            }
        }
        if let Some(title) = tag.attribute("title") {
            self.html.attribute("title", &title);
        }
        for (name, values) in [
            ("dir", &["ltr", "rtl", "auto"][..]),
            ("scope", &["row", "col", "rowgroup", "colgroup"][..]),
            ("type", &["1", "a", "A", "i", "I"][..]),
        ] {
            let value = tag.attribute(name).filter(|value| values.contains(&&**value));
            let is_of_element = match name {
                "scope" => written == "th",
                "type" => written == "ol",
                _ => true,
            };
            if let Some(value) = value.filter(|_| is_of_element) {
                self.html.attribute(name, &value);
            }
        }
        for (name, element) in [("open", "details"), ("reversed", "ol")] {
            if written == element && tag.has(name) {
                self.html.attribute(name, "");
            }
        }
        if tag.has("hidden") {
            self.html.attribute("hidden", "");
        }
        if written == "progress" || written == "meter" {
            self.html.attribute("aria-label", "Progress");
        }
        match written {
            "a" => self.write_link(tag),
            "audio" | "video" => {
                self.is_visible = true;
                self.html.attribute("controls", "");
                self.write_media_source(tag);
            }
            _ => {}
        }
        self.write_style(element, tag);
        self.html.raw(">");
    }

    /// Ids of Markdown get a prefix, so that they are never those of our page, and each occurs once.
    fn write_id(&mut self, element: &Element, tag: &Tag) {
        let Some(ids) = self.ids else { return };
        let name = tag.attribute("name").filter(|_| element.name == "a");
        let id = tag.attribute("id").or(name);
        if let Some(id) = id.and_then(|id| ids.first_of(&id)) {
            self.html.attribute("id", &id);
        }
    }

    fn write_link(&mut self, tag: &Tag) {
        let Some(link) = tag.attribute("href").and_then(|address| url::link(&address)) else { return };
        match link {
            Link::Remote(address) => {
                self.html.attribute("href", &address);
                self.html.attribute("target", "_blank").attribute("rel", "noopener noreferrer");
            }
            Link::Here(part) => {
                self.html.attribute("href", &format!("#{}", crate::Ids::prefixed(&part)));
            }
            Link::File(address) => {
                self.html.attribute("href", &address).attribute("rel", "noopener noreferrer");
            }
        }
    }

    fn write_style(&mut self, element: &Element, tag: &Tag) {
        let ancestors = self.open.iter().map(|open| &*open.id);
        let (id, classes) =
            (tag.attribute("id").unwrap_or_default(), tag.attribute("class").unwrap_or_default());
        let named = sheet::Element { tag: element.name, id: &id, classes: &classes };
        let mut style = self.sheet.style(&named, ancestors);
        if element.name == "center" {
            style.push_str("text-align:center;");
        }
        if let Some(align) = tag.attribute("align") {
            style.push_str(&declarations(&format!("text-align:{align}")));
        }
        if element.name == "font" {
            style.push_str(&declarations(&format!("color:{}", tag.attribute("color").unwrap_or_default())));
        }
        if matches!(element.name, "td" | "th" | "table" | "video" | "progress") {
            style.extend(length(tag, "width"));
        }
        style.push_str(&declarations(&tag.attribute("style").unwrap_or_default()));
        if !style.is_empty() {
            self.html.attribute("style", &style);
        }
    }

    /// An image, whose `alt` is its author's.
    pub(super) fn image(&mut self, tag: &Tag) {
        self.is_visible = true;
        let style = [length(tag, "width"), length(tag, "height")];
        let style: String = style.into_iter().flatten().collect();
        let style = style + &declarations(&tag.attribute("style").unwrap_or_default());
        let alt = tag.attribute("alt").unwrap_or_default();
        let is_in_link = self.open.iter().any(|open| open.name == "a");
        let address = tag.attribute("src").unwrap_or_default();
        picture::at(&address, &alt, &style, is_in_link, &mut self.html);
    }

    pub(super) fn source_of_media(&mut self, tag: &Tag) {
        if tag.attribute("src").and_then(|address| url::media(&address)).is_some() {
            self.html.raw("<source");
            self.write_media_source(tag);
            self.html.raw(">");
        }
    }

    fn write_media_source(&mut self, tag: &Tag) {
        if let Some(address) = tag.attribute("src").and_then(|address| url::media(&address)) {
            self.html.attribute("src", &address);
        }
    }
}
