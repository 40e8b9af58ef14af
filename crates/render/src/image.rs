//! Prepares images in a size that models accept.
//!
//! An image is decoded even if it could be passed on unchanged: services refuse a whole conversation because of one image
//! that they cannot read.

use std::borrow::Cow;
use std::io::Cursor;

use notebook::{Json, one_line};

use crate::{base64_json, size, svg};
use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::png::{CompressionType, FilterType, PngEncoder};
use ::image::imageops::overlay;
use ::image::{
    DynamicImage, GenericImageView, ImageDecoder, ImageFormat, ImageReader, ImageResult, Limits, Rgba,
    RgbaImage,
};

/// The type of drawings.
pub(crate) const SVG: &str = "image/svg+xml";
/// The longest side that models use, in pixels.
const LONGEST_SIDE: u32 = 1568;
/// The largest encoded image that is sent, in bytes.
const MAX_SENT: usize = 1024 * 1024;
/// The largest encoded image that is decoded, in bytes.
const MAX_ENCODED: usize = 24_000_000;
const MAX_PIXELS: u64 = 25_000_000;
/// The memory that decoding may take, in bytes: [`MAX_PIXELS`] with four channels of a byte.
const MAX_MEMORY: u64 = 4 * MAX_PIXELS + 1_000_000;
/// The bytes that are read to find the sides of an image; a preview or a color profile can come before them.
const HEADER_BYTES: usize = 512 * 1024;

/// An image as a notebook has it.
#[derive(Debug)]
pub(crate) struct ImageSource {
    pub(crate) mime: String,
    pub(crate) content: Json,
    /// The alternative text that the notebook's author gave it.
    pub(crate) label: Option<String>,
    /// The same content in plain text, if there is one, as for a typeset formula.
    pub(crate) plain: Option<String>,
}

/// An image for a model.
#[derive(Debug)]
pub(crate) struct Fitted {
    /// A description in one line.
    pub(crate) note: String,
    /// Its MIME type and its encoded bytes. `None` if it cannot be sent; the note says why.
    pub(crate) encoded: Option<(&'static str, Vec<u8>)>,
}

/// The properties of an image that are known without decoding it.
struct Header {
    format: ImageFormat,
    sides: (u32, u32),
    bytes: usize,
}

/// Describes an image without decoding it.
pub(crate) fn description(source: &ImageSource) -> String {
    bracketed(&described(source).0, source)
}

/// Describes an image that is not sent, and how to see it.
pub(crate) fn left_out(source: &ImageSource, more: &str) -> String {
    if !can_be_sent(source) {
        return description(source);
    }
    bracketed(&format!("{}, left out, {more} shows it", described(source).0), source)
}

/// Whether [`fit`] may find an image to send. Only drawings are known beforehand to have none.
pub(crate) fn can_be_sent(source: &ImageSource) -> bool {
    drawing(source).is_none_or(|drawing| svg::is_drawable(&drawing))
}

fn drawing(source: &ImageSource) -> Option<Cow<'_, str>> {
    if source.mime == SVG { source.content.multiline_text() } else { None }
}

/// The image, scaled down if necessary; that of a drawing if it can be drawn.
pub(crate) fn fit(source: &ImageSource) -> Fitted {
    if let Some(drawing) = drawing(source) {
        let encoded = svg::draw(&drawing).and_then(|image| encode(image, false).ok());
        return Fitted { note: description(source), encoded: encoded.map(|found| (found.mime, found.bytes)) };
    }
    let (description, header) = described(source);
    let left_out =
        |why: &str| Fitted { note: bracketed(&format!("{description}, {why}"), source), encoded: None };
    let Some(header) = header else { return left_out("cannot be decoded") };
    if header.bytes > MAX_ENCODED {
        return left_out("left out: larger than 24 MB");
    }
    if u64::from(header.sides.0) * u64::from(header.sides.1) > MAX_PIXELS {
        return left_out("left out: more than 25 megapixels");
    }
    let bytes = base64_json::decode(&source.content, usize::MAX / 2);
    let encoded = bytes.and_then(|bytes| fit_bytes(bytes, header.format).ok());
    let Some(encoded) = encoded else { return left_out("cannot be decoded") };
    let mut note = description;
    if encoded.sides != header.sides {
        note.push_str(&format!(", scaled to {}×{}", encoded.sides.0, encoded.sides.1));
    }
    Fitted { note: bracketed(&note, source), encoded: Some((encoded.mime, encoded.bytes)) }
}

fn bracketed(description: &str, source: &ImageSource) -> String {
    match &source.label {
        Some(label) => format!("[{description}: {}]", one_line(label)),
        None => format!("[{description}]"),
    }
}

/// The type, sides and size of the image; no header if the bytes are not an image.
fn described(source: &ImageSource) -> (String, Option<Header>) {
    if let Some(drawing) = drawing(source) {
        return (svg::described(&drawing), None);
    }
    let (mime, json) = (&source.mime, &source.content);
    let Some(start) = base64_json::decode(json, HEADER_BYTES) else {
        return (format!("{mime}, {}", size(base64_json::max_size(json))), None);
    };
    let bytes = if start.len() < HEADER_BYTES { start.len() } else { base64_json::max_size(json) };
    let header =
        ImageReader::new(Cursor::new(start.as_slice())).with_guessed_format().ok().and_then(|reader| {
            let format = reader.format()?;
            Some(Header { format, sides: reader.into_dimensions().ok()?, bytes })
        });
    match header {
        Some(header) => {
            let (width, height) = header.sides;
            (format!("{} {width}×{height}, {}", header.format.to_mime_type(), size(bytes)), Some(header))
        }
        None => (format!("{mime}, {}", size(bytes)), None),
    }
}

struct Encoded {
    mime: &'static str,
    bytes: Vec<u8>,
    sides: (u32, u32),
}

fn fit_bytes(bytes: Vec<u8>, format: ImageFormat) -> ImageResult<Encoded> {
    // A slice, like all that is decoded: the decoders of all formats exist in the program once for each type they read.
    let mut reader = ImageReader::with_format(Cursor::new(bytes.as_slice()), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    let longest = image.width().max(image.height());
    let same = match format {
        ImageFormat::Png => Some("image/png"),
        ImageFormat::Jpeg => Some("image/jpeg"),
        _ => None,
    };
    if let Some(mime) = same.filter(|_| longest <= LONGEST_SIDE && bytes.len() <= MAX_SENT) {
        return Ok(Encoded { mime, bytes, sides: image.dimensions() });
    }
    let (size, pixels) = (bytes.len() as u64, u64::from(image.width()) * u64::from(image.height()));
    drop(bytes);
    if longest > LONGEST_SIDE {
        image = scaled(&image, LONGEST_SIDE);
    }
    image.apply_orientation(orientation);
    // Scaling does not make an image easier to compress, so one that is far too large is not tried as PNG.
    let scaled_pixels = u64::from(image.width()) * u64::from(image.height());
    let as_png = size.saturating_mul(scaled_pixels) / pixels.max(1);
    let is_photograph =
        format == ImageFormat::Jpeg || (format == ImageFormat::Png && as_png > MAX_SENT as u64 * 3 / 2);
    encode(image, is_photograph)
}

/// The image with `side` as its longest side.
fn scaled(image: &DynamicImage, side: u32) -> DynamicImage {
    let longest = u64::from(image.width().max(image.height()).max(1));
    let scale = |length: u32| {
        let scaled = (u64::from(length) * u64::from(side) + longest / 2) / longest;
        u32::try_from(scaled).unwrap_or(side).max(1)
    };
    // Averages all pixels that become one, which keeps thin lines and small letters readable.
    image.thumbnail_exact(scale(image.width()), scale(image.height()))
}

/// PNG keeps lines and letters sharp. If it is too large, the image is a photograph, for which JPEG is good enough.
fn encode(mut image: DynamicImage, is_photograph: bool) -> ImageResult<Encoded> {
    if !is_photograph {
        let mut bytes = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
        eight_bits(&image).write_with_encoder(encoder)?;
        if bytes.len() <= MAX_SENT {
            return Ok(Encoded { mime: "image/png", bytes, sides: image.dimensions() });
        }
    }
    loop {
        let flat = flattened(&image);
        for quality in [85, 65] {
            let mut bytes = Vec::new();
            flat.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))?;
            if bytes.len() <= MAX_SENT {
                return Ok(Encoded { mime: "image/jpeg", bytes, sides: image.dimensions() });
            }
        }
        let side = image.width().max(image.height()) * 3 / 4;
        image = scaled(&image, side);
    }
}

/// PNG has no floating point, and models do not use sixteen bits per channel.
fn eight_bits(image: &DynamicImage) -> DynamicImage {
    match (image.color().has_alpha(), image.color().has_color()) {
        (true, true) => image.to_rgba8().into(),
        (true, false) => image.to_luma_alpha8().into(),
        (false, true) => image.to_rgb8().into(),
        (false, false) => image.to_luma8().into(),
    }
}

/// The image on a white background.
fn flattened(image: &DynamicImage) -> DynamicImage {
    if !image.color().has_alpha() {
        return eight_bits(image);
    }
    let mut flat = RgbaImage::from_pixel(image.width(), image.height(), Rgba([u8::MAX; 4]));
    overlay(&mut flat, &image.to_rgba8(), 0, 0);
    DynamicImage::from(flat).to_rgb8().into()
}

#[cfg(test)]
mod tests;
