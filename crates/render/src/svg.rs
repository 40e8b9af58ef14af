//! Describes SVG by its size and its texts, and draws it where it has no text.

mod bounds;
mod draw;

use notebook::markup::{self, Part, Tag};
use notebook::truncate;

use crate::size;

pub(crate) use draw::{draw, is_drawable};

/// The bytes of a drawing that are read.
const MAX_READ: usize = 8 * 1024 * 1024;
/// The longest list of texts, in characters.
const MAX_TEXTS: usize = 1501;

/// Describes a drawing in one line.
pub(crate) fn described(svg: &str) -> String {
    let mut drawing = Drawing::default();
    markup::read(&svg[..svg.floor_char_boundary(MAX_READ)], |part| {
        drawing.part(part);
        None
    });
    let mut text = "image/svg+xml".to_owned();
    if let Some((width, height)) = drawing.sides {
        text.push_str(&format!(" {}×{}", width.trunc(), height.trunc()));
    }
    text.push_str(&format!(", {}", size(svg.len())));
    let texts = drawing.texts.join(", ");
    if !texts.is_empty() {
        text.push_str(&format!("; its texts: {}", truncate(&texts, MAX_TEXTS)));
    }
    text
}

#[derive(Debug, Default)]
struct Drawing {
    sides: Option<(f64, f64)>,
    texts: Vec<String>,
    length: usize,
    /// The text element that is open.
    open: Option<String>,
    /// Whether we are in a group in which matplotlib draws text as outlines; a comment in it contains the text.
    outlines: bool,
    /// Whether we are in the metadata, which name the author and not the content.
    metadata: bool,
}

impl Drawing {
    fn part(&mut self, part: Part) {
        match part {
            Part::Tag(tag) => self.tag(&tag),
            Part::Text(text) => {
                if let Some(open) = &mut self.open {
                    open.push_str(&text);
                }
            }
            Part::Comment(text) if self.outlines => self.text(&markup::decoded(&text)),
            Part::Comment(_) => {}
        }
    }

    fn tag(&mut self, tag: &Tag) {
        match (&*tag.name, tag.is_start) {
            ("svg", true) if self.sides.is_none() => {
                let [width, height] = sides(tag);
                self.sides = width.zip(height);
            }
            ("g", true) => {
                self.outlines = tag.attribute("id").is_some_and(|id| id.starts_with("text_"));
            }
            ("metadata", is_start) => self.metadata = is_start,
            ("text" | "title" | "desc", true) if !self.metadata && !tag.is_self_closing => {
                self.open = Some(String::new());
            }
            ("text" | "title" | "desc", false) => {
                if let Some(text) = self.open.take() {
                    self.text(&text);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() && self.length <= MAX_TEXTS {
            self.length += text.len() + 2;
            self.texts.push(text);
        }
    }
}

/// The width and the height of a drawing, of its view box where it has none of its own.
pub(crate) fn sides(svg: &Tag) -> [Option<f64>; 2] {
    let view = svg.attribute("viewbox").unwrap_or_default();
    let mut view = view.split([' ', ',']).filter(|part| !part.is_empty()).skip(2).map(length);
    ["width", "height"].map(|name| {
        let seen = view.next().flatten();
        svg.attribute(name).as_deref().and_then(length).or(seen)
    })
}

/// A length in units of any kind; a percentage is not a length.
fn length(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|byte: char| !byte.is_ascii_digit() && byte != '.').unwrap_or(text.len());
    if text[end..].starts_with('%') { None } else { text[..end].parse().ok() }
}

/// Attributes that a file needs and HTML does not: the name of each, and its declaration.
const NAMESPACES: [(&str, &str); 2] = [
    ("xmlns=", " xmlns=\"http://www.w3.org/2000/svg\""),
    ("xmlns:xlink=", " xmlns:xlink=\"http://www.w3.org/1999/xlink\""),
];

/// A drawing as a file, whether it was one or stood within HTML. `None` if it is no whole element.
pub fn svg_file(svg: &str) -> Option<String> {
    let start = ["<svg", "<SVG"].into_iter().filter_map(|name| svg.find(name)).min()?;
    let (before, element) = svg.split_at(start);
    let rest = element["<svg".len()..].trim_end().strip_suffix('>')?;
    let opening = &rest[..rest.find('>').unwrap_or(rest.len())];
    let lacking = NAMESPACES.iter().filter(|(name, _)| {
        let is_needed = !name.contains("xlink") || rest.contains("xlink:");
        is_needed && !opening.contains(name)
    });
    let declared: String = lacking.map(|(_, declaration)| *declaration).collect();
    Some(format!("{before}<svg{declared}{rest}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_described_by_its_size_and_texts() {
        let svg = "<?xml version='1.0'?><svg width='460.8pt' height='345pt'><title>Fruit &amp; veg</title>\
                   <metadata><title>no</title></metadata><style>text{}</style><text>a<tspan>b</tspan>\n c</text></svg>";
        assert_eq!(
            described(svg),
            format!("image/svg+xml 460×345, {} B; its texts: Fruit & veg, ab c", svg.len())
        );
        assert_eq!(described("<svg viewBox='0 0 24 12.5'><path d='M0'/></svg>"), "image/svg+xml 24×12, 47 B");
        assert_eq!(described("<svg width='100%' height='100%'/>"), "image/svg+xml, 33 B");
    }

    #[test]
    fn texts_drawn_as_outlines_are_read_from_comments() {
        let svg = "<svg><!-- no --><g id='text_1'><!-- apples &amp; pears --><g><path/></g></g><g id='axis_2'><!-- no --></g></svg>";
        assert!(described(svg).ends_with("; its texts: apples & pears"));
    }

    #[test]
    fn long_texts_are_truncated() {
        let svg = format!("<svg>{}</svg>", "<text>word word</text>".repeat(10_000));
        assert!(described(&svg).chars().count() < MAX_TEXTS + 100);
        assert!(described("<svg><text>").starts_with("image/svg+xml"));
        assert_eq!(described(""), "image/svg+xml, 0 B");
    }
}
