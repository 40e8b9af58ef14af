//! Draws SVG without text, within bounds: plots whose text is outlines, as matplotlib and R write it.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use image::{DynamicImage, ImageFormat, ImageReader, RgbaImage};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, ImageKind, Options, Tree};

use super::bounds;

/// The longest side of a picture, in pixels, and the shortest that a longest side has.
const LONGEST_SIDE: f32 = 1568.0;
const SHORTEST_SIDE: f32 = 300.0;
/// The most pixels of the images in a drawing.
const MAX_IMAGE_PIXELS: u64 = 4_000_000;

/// Whether a drawing can be drawn, as far as its source shows it.
pub(crate) fn is_drawable(svg: &str) -> bool {
    bounds::parse(svg).is_some()
}

/// The picture, on white as notebooks show it. `None` if it would not be what its author saw, or takes too long.
pub(crate) fn draw(svg: &str) -> Option<DynamicImage> {
    let document = bounds::parse(svg)?;
    let pixels = AtomicU64::new(0);
    let image_href_resolver = ImageHrefResolver {
        resolve_data: Box::new(|_, data, _| embedded(data, &pixels)),
        // Neither files nor addresses.
        resolve_string: Box::new(|_, _| None),
    };
    let options = Options { image_href_resolver, ..Options::default() };
    let tree = Tree::from_xmltree(&document, &options).ok()?;
    if pixels.load(Ordering::Relaxed) > MAX_IMAGE_PIXELS {
        return None;
    }
    let (width, height) = (tree.size().width(), tree.size().height());
    let longest = width.max(height);
    let scale = longest.clamp(SHORTEST_SIDE, LONGEST_SIDE) / longest;
    let size = tree.size().scale_by(scale)?.to_int_size();
    if !bounds::is_soon_drawn(&tree, (size.width(), size.height()), scale) {
        return None;
    }
    let mut pixmap = Pixmap::new(size.width(), size.height())?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    // Opaque pixels are the same with and without premultiplied colours.
    RgbaImage::from_raw(size.width(), size.height(), pixmap.take())
        .map(|image| DynamicImage::from(image).to_rgb8().into())
}

/// An image in a drawing, if it is one that can be decoded. Its pixels are counted; one that cannot be drawn counts as too many.
fn embedded(data: Arc<Vec<u8>>, pixels: &AtomicU64) -> Option<ImageKind> {
    let header = |data: &[u8]| {
        let reader = ImageReader::new(Cursor::new(data)).with_guessed_format().ok()?;
        Some((reader.format()?, reader.into_dimensions().ok()?))
    };
    let (kind, count) = match header(&data) {
        Some((ImageFormat::Png, sides)) => (Some(ImageKind::PNG(data)), product(sides)),
        Some((ImageFormat::Jpeg, sides)) => (Some(ImageKind::JPEG(data)), product(sides)),
        _ => (None, MAX_IMAGE_PIXELS + 1),
    };
    pixels.fetch_add(count, Ordering::Relaxed);
    kind
}

fn product((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

#[cfg(test)]
mod tests;
