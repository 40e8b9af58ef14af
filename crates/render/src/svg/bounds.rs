//! What may be drawn: drawings that look like what their author saw, and whose work is bounded before it starts, for it cannot be
//! stopped.

use std::collections::HashMap;

use resvg::tiny_skia::Rect;
use resvg::usvg::roxmltree::{Document, Node as Element, ParsingOptions};
use resvg::usvg::{Group, Node, Path, Tree};

/// The longest source, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;
/// The most elements, those that `use` repeats included.
const MAX_ELEMENTS: usize = 50_000;
/// The most bytes of attributes, those that `use` repeats included.
const MAX_ATTRIBUTES: usize = 4 * 1024 * 1024;
const MAX_DEPTH: usize = 64;
/// The longest style sheet, in bytes. Each of its rules is compared with each element.
const MAX_STYLE: usize = 2_000;
/// The most stops of gradients. Each shape gets its own.
const MAX_STOPS: usize = 256;
/// The most work, in pixels that are filled or steps along a line. In release builds, 100 million take less than a second.
const MAX_WORK: f64 = 100_000_000.0;
/// What one dash of a line takes, in pixels.
const DASH_WORK: f64 = 500.0;
/// What one step along a line takes, in pixels: lines are drawn in four rows for each of pixels, on both sides.
const STEP_WORK: f64 = 8.0;

/// The elements that are drawn as they are. `text` needs its author's fonts, and others have no bound, or move.
const DRAWN: &str = include_str!("bounds/drawn.txt");
const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// The drawing, if all of it can be drawn.
pub(super) fn parse(svg: &str) -> Option<Document<'_>> {
    // Entities repeat text.
    if svg.len() > MAX_SOURCE || svg.contains("<!ENTITY") {
        return None;
    }
    let nodes_limit = u32::try_from(4 * MAX_ELEMENTS).ok()?;
    let options = ParsingOptions { allow_dtd: true, nodes_limit, ..ParsingOptions::default() };
    let document = Document::parse_with_options(svg, options).ok()?;
    (document.root_element().has_tag_name((SVG, "svg")) && is_bounded(&document)).then_some(document)
}

/// The size of an element with all below it.
#[derive(Clone, Copy, Default)]
struct Size {
    elements: usize,
    attributes: usize,
    has_use: bool,
}

fn is_bounded(document: &Document<'_>) -> bool {
    let (mut sizes, mut uses) = (HashMap::new(), Vec::new());
    let (mut style, mut stops) = (0, 0);
    for element in document.descendants().filter(|node| node.has_tag_name((SVG, "style"))) {
        style += element.text().map_or(0, str::len);
    }
    for element in document.descendants().filter(|node| node.has_tag_name((SVG, "stop"))) {
        stops += usize::from(element.is_element());
    }
    let Some(whole) = size(document.root_element(), 0, &mut sizes, &mut uses) else { return false };
    let (mut elements, mut attributes) = (whole.elements, whole.attributes);
    for target in uses {
        // Drawings with one `use` within another grow with each.
        let Some(Size { elements: more, attributes: longer, has_use: false }) = sizes.get(target) else {
            return false;
        };
        elements += more;
        attributes += longer;
    }
    style <= MAX_STYLE && stops <= MAX_STOPS && elements <= MAX_ELEMENTS && attributes <= MAX_ATTRIBUTES
}

/// Adds up the sizes of an element and those below it. `None` if there is one that is not drawn.
fn size<'d>(
    element: Element<'d, '_>,
    depth: usize,
    sizes: &mut HashMap<&'d str, Size>,
    uses: &mut Vec<&'d str>,
) -> Option<Size> {
    let name = element.tag_name().name();
    if depth > MAX_DEPTH || element.attribute("clipPathUnits") == Some("objectBoundingBox") {
        return None;
    }
    let mut size = Size { elements: 1, ..Size::default() };
    size.attributes = element.attributes().map(|attribute| attribute.value().len()).sum();
    match name {
        "use" => {
            let href = element.attribute("href").or_else(|| element.attribute((XLINK, "href")));
            uses.push(href?.strip_prefix('#')?);
            size.has_use = true;
        }
        // Files and addresses are not read.
        "image" => {
            let href = element.attribute("href").or_else(|| element.attribute((XLINK, "href")));
            href.filter(|href| href.starts_with("data:"))?;
        }
        "svg" if depth > 0 => return None,
        _ if !DRAWN.lines().any(|it| it == name) => return None,
        _ => {}
    }
    if !matches!(name, "metadata" | "title" | "desc") {
        let is_drawn =
            |child: &Element<'_, '_>| child.is_element() && child.tag_name().namespace() == Some(SVG);
        for child in element.children().filter(is_drawn) {
            let below = self::size(child, depth + 1, sizes, uses)?;
            size.elements += below.elements;
            size.attributes += below.attributes;
            size.has_use |= below.has_use;
        }
    }
    if let Some(id) = element.attribute("id") {
        sizes.insert(id, size);
    }
    Some(size)
}

/// Whether a drawing is drawn soon on a canvas of this size, which is `scale` times its own.
pub(super) fn is_soon_drawn(tree: &Tree, (width, height): (u32, u32), scale: f32) -> bool {
    let is_simple = |group: &Group| is_simple(group);
    if !tree.filters().is_empty() || !tree.masks().is_empty() || !tree.patterns().is_empty() {
        return false;
    }
    if !tree.clip_paths().iter().all(|clip| clip.clip_path().is_none() && is_simple(clip.root())) {
        return false;
    }
    let canvas = (f64::from(width), f64::from(height));
    let mut work = Work { scale: f64::from(scale), canvas, done: canvas.0 * canvas.1 };
    work.group(tree.root());
    work.done <= MAX_WORK
}

/// Whether nothing below has a layer of its own.
fn is_simple(group: &Group) -> bool {
    group.children().iter().all(|child| match child {
        Node::Group(group) => !group.should_isolate() && is_simple(group),
        _ => true,
    })
}

struct Work {
    scale: f64,
    canvas: (f64, f64),
    done: f64,
}

impl Work {
    fn group(&mut self, group: &Group) {
        if self.done > MAX_WORK {
            return;
        }
        if group.should_isolate() {
            // Layers may be larger than the canvas.
            let area = self.area(group.abs_layer_bounding_box().to_rect(), 5.0);
            self.done += 4.0 * area;
            if let Some(clip) = group.clip_path() {
                self.done += 2.0 * area;
                self.clip(clip.root(), area);
            }
        }
        for child in group.children() {
            match child {
                Node::Group(group) => self.group(group),
                Node::Path(path) => self.path(path, self.area(path.abs_stroke_bounding_box(), 1.0)),
                Node::Image(image) => self.done += 4.0 * self.area(image.abs_bounding_box(), 1.0),
                Node::Text(_) => {}
            }
        }
    }

    fn clip(&mut self, group: &Group, layer: f64) {
        for child in group.children() {
            match child {
                Node::Group(group) => self.clip(group, layer),
                Node::Path(path) => self.path(path, layer.min(self.area(path.abs_bounding_box(), 5.0))),
                Node::Image(_) | Node::Text(_) => {}
            }
        }
    }

    fn path(&mut self, path: &Path, area: f64) {
        let points = path.data().points();
        let length: f64 = points.windows(2).map(|pair| f64::from(pair[0].distance(pair[1]))).sum();
        let transform = path.abs_transform();
        let (x, y) = transform.get_scale();
        let drawn = length * f64::from(x.max(y)) * self.scale;
        let longest = (self.canvas.0 + self.canvas.1) * count(points.len());
        self.done += 2.0 * area + 20.0 * count(points.len()) + STEP_WORK * drawn.min(longest);
        if let Some(dashes) = path.stroke().and_then(|stroke| stroke.dasharray()) {
            let period: f64 = dashes.iter().map(|dash| f64::from(*dash)).sum();
            self.done += DASH_WORK * count(dashes.len()) * length / period.max(1e-9);
        }
    }

    /// The part of a rectangle, in pixels, that lies on a canvas `times` as wide and as high.
    fn area(&self, rect: Rect, times: f64) -> f64 {
        let side = |length: f32, most: f64| (f64::from(length) * self.scale + 4.0).min(most * times);
        side(rect.width(), self.canvas.0) * side(rect.height(), self.canvas.1)
    }
}

fn count(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}
