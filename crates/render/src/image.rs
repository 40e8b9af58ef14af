//! Images in a size that a model takes.
//!
//! An image is decoded even where it could be passed on as it is: services refuse a whole conversation for one
//! image that they cannot read.

use std::io::Cursor;

use crate::bundle::Picture;
use crate::{base64_json, size};
use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::png::{CompressionType, FilterType, PngEncoder};
use ::image::{DynamicImage, GenericImageView, ImageDecoder, ImageFormat, ImageReader, ImageResult, Limits};

/// The longest side that models look at.
const LONGEST_SIDE: u32 = 1568;
/// The largest encoded image that is sent.
const LARGEST_SENT: usize = 1024 * 1024;
/// The largest encoded image that is decoded.
const LARGEST_ENCODED: usize = 24_000_000;
/// The most pixels that are decoded.
const MOST_PIXELS: u64 = 25_000_000;
/// The most memory that decoding may take: [`MOST_PIXELS`] with four channels of a byte.
const MEMORY: u64 = 4 * MOST_PIXELS + 1_000_000;
/// How much of an image is read to learn its size; what stands before that is a preview or a colour profile.
const START: usize = 512 * 1024;

/// An image for a model.
#[derive(Debug)]
pub(crate) struct Ready {
    /// What it is, in one line.
    pub(crate) note: String,
    /// Its type and its encoded bytes; `None` if it cannot be shown, and the note says why.
    pub(crate) encoded: Option<(&'static str, Vec<u8>)>,
}

/// What is known of an image without decoding it.
struct Header {
    format: ImageFormat,
    sides: (u32, u32),
    bytes: usize,
}

/// The line that describes an image without decoding it.
pub(crate) fn description(picture: &Picture) -> String {
    bracketed(&described(picture).0, picture)
}

/// The same for an image that is not sent, though it could be.
pub(crate) fn left_out(picture: &Picture, more: &str) -> String {
    bracketed(&format!("{}, left out, {more} shows it", described(picture).0), picture)
}

/// The image, scaled if it has to be.
pub(crate) fn ready(picture: &Picture) -> Ready {
    let (description, header) = described(picture);
    let left_out =
        |why: &str| Ready { note: bracketed(&format!("{description}, {why}"), picture), encoded: None };
    let Some(header) = header else { return left_out("cannot be decoded") };
    if header.bytes > LARGEST_ENCODED {
        return left_out("left out: larger than 24 MB");
    }
    if u64::from(header.sides.0) * u64::from(header.sides.1) > MOST_PIXELS {
        return left_out("left out: more than 25 megapixels");
    }
    let bytes = base64_json::decode(&picture.content, usize::MAX / 2);
    let shown = bytes.and_then(|bytes| fitted(bytes, header.format).ok());
    let Some(shown) = shown else { return left_out("cannot be decoded") };
    let mut note = description;
    if shown.sides != header.sides {
        note.push_str(&format!(", scaled to {}×{}", shown.sides.0, shown.sides.1));
    }
    Ready { note: bracketed(&note, picture), encoded: Some((shown.mime, shown.bytes)) }
}

fn bracketed(description: &str, picture: &Picture) -> String {
    match &picture.label {
        Some(label) => format!("[{description}: {label}]"),
        None => format!("[{description}]"),
    }
}

/// The type, sides and size of the image; without a header if it is none.
fn described(picture: &Picture) -> (String, Option<Header>) {
    let (mime, json) = (&picture.mime, &picture.content);
    let Some(start) = base64_json::decode(json, START) else {
        return (format!("{mime}, {}", size(base64_json::longest(json))), None);
    };
    let bytes = if start.len() < START { start.len() } else { base64_json::longest(json) };
    let header = ImageReader::new(Cursor::new(&start)).with_guessed_format().ok().and_then(|reader| {
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

struct Fitted {
    mime: &'static str,
    bytes: Vec<u8>,
    sides: (u32, u32),
}

fn fitted(bytes: Vec<u8>, format: ImageFormat) -> ImageResult<Fitted> {
    let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
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
    if let Some(mime) = same.filter(|_| longest <= LONGEST_SIDE && bytes.len() <= LARGEST_SENT) {
        return Ok(Fitted { mime, bytes, sides: image.dimensions() });
    }
    let (size, pixels) = (bytes.len() as u64, u64::from(image.width()) * u64::from(image.height()));
    drop(bytes);
    if longest > LONGEST_SIDE {
        image = scaled(&image, LONGEST_SIDE);
    }
    image.apply_orientation(orientation);
    // Scaling makes no image easier to compress, so that one too large by far need not be tried.
    let scaled_pixels = u64::from(image.width()) * u64::from(image.height());
    let as_png = size.saturating_mul(scaled_pixels) / pixels.max(1);
    let is_photograph =
        format == ImageFormat::Jpeg || (format == ImageFormat::Png && as_png > LARGEST_SENT as u64 * 3 / 2);
    encoded(image, is_photograph)
}

/// The image with `side` as its longest side.
fn scaled(image: &DynamicImage, side: u32) -> DynamicImage {
    let longest = u64::from(image.width().max(image.height()).max(1));
    let scale = |length: u32| {
        let scaled = (u64::from(length) * u64::from(side) + longest / 2) / longest;
        u32::try_from(scaled).unwrap_or(side).max(1)
    };
    // Averages all pixels that fall into one, which keeps thin lines and small letters readable.
    image.thumbnail_exact(scale(image.width()), scale(image.height()))
}

/// PNG keeps lines and letters sharp; where it is too large the image is a photograph, and JPEG does.
fn encoded(mut image: DynamicImage, is_photograph: bool) -> ImageResult<Fitted> {
    if !is_photograph {
        let mut bytes = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
        eight_bits(&image).write_with_encoder(encoder)?;
        if bytes.len() <= LARGEST_SENT {
            return Ok(Fitted { mime: "image/png", bytes, sides: image.dimensions() });
        }
    }
    loop {
        let flat = flattened(&image);
        for quality in [85, 65] {
            let mut bytes = Vec::new();
            flat.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))?;
            if bytes.len() <= LARGEST_SENT {
                return Ok(Fitted { mime: "image/jpeg", bytes, sides: image.dimensions() });
            }
        }
        let side = image.width().max(image.height()) * 3 / 4;
        image = scaled(&image, side);
    }
}

/// PNG has no floating point, and sixteen bits a channel tell a model nothing.
fn eight_bits(image: &DynamicImage) -> DynamicImage {
    match (image.color().has_alpha(), image.color().has_color()) {
        (true, true) => image.to_rgba8().into(),
        (true, false) => image.to_luma_alpha8().into(),
        (false, true) => image.to_rgb8().into(),
        (false, false) => image.to_luma8().into(),
    }
}

/// The image on white, where something shines through.
fn flattened(image: &DynamicImage) -> DynamicImage {
    if !image.color().has_alpha() {
        return eight_bits(image);
    }
    let mut flat = image.to_rgba8();
    for pixel in flat.pixels_mut() {
        let alpha = u16::from(pixel[3]);
        for channel in 0..3 {
            let mixed = (u16::from(pixel[channel]) * alpha + 255 * (255 - alpha) + 127) / 255;
            pixel[channel] = u8::try_from(mixed).unwrap_or(u8::MAX);
        }
    }
    DynamicImage::from(flat).to_rgb8().into()
}

#[cfg(test)]
mod tests;
