//! Whether two images show the same.

use std::io::Cursor;

use ::image::{DynamicImage, ImageReader, Limits};
use notebook::Json;

use crate::base64_json;

/// The memory that decoding one may take, in bytes.
const MAX_MEMORY: u64 = 100_000_000;
/// By how much a color of a pixel may differ, of 255: encoders and fonts round differently.
const TOLERANCE: u8 = 24;
/// One pixel in so many may differ by more.
const OUTLIERS: usize = 1000;

/// Whether two images, as base64, show the same: the same bytes, or the same sides and nearly the same pixels. Images that
/// cannot be decoded are the same only if their bytes are.
pub fn is_same_image(one: &Json, other: &Json) -> bool {
    if one == other {
        return true;
    }
    let bytes = |json| base64_json::decode(json, usize::MAX / 2);
    let (Some(one), Some(other)) = (bytes(one), bytes(other)) else { return false };
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (decoded(&one), decoded(&other)) else { return false };
    if (one.width(), one.height()) != (other.width(), other.height()) {
        return false;
    }
    let (one, other) = (one.into_rgba8(), other.into_rgba8());
    let differs = |(one, other): &(&::image::Rgba<u8>, &::image::Rgba<u8>)| {
        one.0.iter().zip(other.0).any(|(one, other)| one.abs_diff(other) > TOLERANCE)
    };
    let pixels = one.pixels().len();
    one.pixels().zip(other.pixels()).filter(differs).count() <= pixels / OUTLIERS
}

fn decoded(bytes: &[u8]) -> Option<DynamicImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    reader.decode().ok()
}

#[cfg(test)]
mod tests {
    use ::image::{ImageFormat, Rgba, RgbaImage};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn image(format: ImageFormat, side: u32, color: impl Fn(u32) -> u8) -> Json {
        let pixels = RgbaImage::from_fn(side, side, |x, y| Rgba([color(y * side + x), 0, 0, 255]));
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(pixels).to_rgb8().write_to(&mut bytes, format).unwrap();
        Json::from_value(&json!(STANDARD.encode(bytes.into_inner())))
    }

    #[test]
    fn nearly_the_same_pixels_are_the_same_image() {
        let png = |color: fn(u32) -> u8| image(ImageFormat::Png, 100, color);
        let black = png(|_| 0);
        assert!(is_same_image(&black, &png(|_| 5)), "rounded otherwise");
        assert!(is_same_image(&black, &png(|at| if at < 3 { 255 } else { 0 })), "a few pixels");
        assert!(is_same_image(&black, &image(ImageFormat::Jpeg, 100, |_| 0)), "another encoding");
        assert!(!is_same_image(&black, &png(|at| if at < 30 { 255 } else { 0 })));
        assert!(!is_same_image(&black, &image(ImageFormat::Png, 101, |_| 0)));
        assert!(!is_same_image(&black, &Json::from_value(&json!("not base64!"))));
        assert!(!is_same_image(&Json::from_value(&json!("aGk=")), &Json::from_value(&json!("aGg="))));
    }
}
