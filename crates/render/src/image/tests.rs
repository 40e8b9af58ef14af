use ::image::{Rgb, RgbImage, Rgba, RgbaImage};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use notebook::Json;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn json(bytes: &[u8]) -> Json {
    Json::from_value(&json!(STANDARD.encode(bytes)))
}

fn fitted(mime: &str, content: &Json, label: Option<&str>) -> Fitted {
    fit(&source(mime, content, label))
}

fn source(mime: &str, content: &Json, label: Option<&str>) -> ImageSource {
    ImageSource {
        mime: mime.to_owned(),
        content: content.clone(),
        label: label.map(str::to_owned),
        plain: None,
    }
}

fn bytes_as(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn plain(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_pixel(width, height, Rgb([10, 200, 30])).into()
}

/// Noise, which nothing compresses; the same at every run.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, red, green, blue] = state.to_le_bytes();
        Rgb([red, green, blue])
    })
    .into()
}

fn sent(bytes: &[u8]) -> (String, &'static str, DynamicImage, Vec<u8>) {
    let fitted = fitted("image/x", &json(bytes), None);
    let (mime, data) = fitted.encoded.unwrap_or_else(|| panic!("{}", fitted.note));
    assert!(data.len() <= MAX_SENT);
    let image = ::image::load_from_memory(&data).unwrap();
    assert!(image.width().max(image.height()) <= LONGEST_SIDE);
    (fitted.note, mime, image, data)
}

#[test]
fn a_small_png_or_jpeg_is_unchanged() {
    for (format, mime) in [(ImageFormat::Png, "image/png"), (ImageFormat::Jpeg, "image/jpeg")] {
        let bytes = bytes_as(&plain(40, 30), format);
        let (note, shown_mime, _, data) = sent(&bytes);
        assert_eq!(note, format!("[{mime} 40×30, {} B]", bytes.len()));
        assert_eq!((shown_mime, data), (mime, bytes));
    }
}

#[test]
fn other_types_become_png() {
    for format in [ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp] {
        let (note, mime, image, _) = sent(&bytes_as(&plain(20, 10), format));
        assert!(note.starts_with(&format!("[{} 20×10, ", format.to_mime_type())), "{note}");
        assert_eq!((mime, image.dimensions()), ("image/png", (20, 10)));
    }
}

#[test]
fn a_wide_image_is_scaled_with_a_note() {
    let (note, mime, image, _) = sent(&bytes_as(&plain(3136, 101), ImageFormat::Png));
    assert!(note.ends_with(", scaled to 1568×51]"), "{note}");
    assert_eq!((mime, image.dimensions()), ("image/png", (1568, 51)));
    let (_, _, image, _) = sent(&bytes_as(&plain(1, 8000), ImageFormat::Png));
    assert_eq!(image.dimensions(), (1, 1568));
}

#[test]
fn a_photograph_becomes_jpeg() {
    let (note, mime, _, _) = sent(&bytes_as(&noise(620, 620), ImageFormat::Png));
    assert_eq!(mime, "image/jpeg", "{note}");
    let (note, mime, image, _) = sent(&bytes_as(&noise(1600, 500), ImageFormat::Png));
    assert_eq!((mime, image.dimensions()), ("image/jpeg", (1568, 490)), "{note}");
    let (note, mime, _, _) = sent(&bytes_as(&noise(620, 620), ImageFormat::Bmp));
    assert_eq!(mime, "image/jpeg", "{note}");
}

#[test]
fn transparency_becomes_white_in_jpeg() {
    let mut image: RgbaImage = noise(800, 800).to_rgba8();
    image.pixels_mut().filter(|pixel| pixel[0] > 2).for_each(|pixel| *pixel = Rgba([0, 0, 0, 0]));
    let flat = flattened(&image.into());
    assert!(!flat.color().has_alpha());
    assert!(flat.to_rgb8().pixels().filter(|pixel| pixel.0 == [255, 255, 255]).count() > 600_000);
}

#[test]
fn the_bytes_determine_the_type() {
    let fitted = fitted("image/png", &json(&bytes_as(&plain(8, 8), ImageFormat::Jpeg)), Some("a label"));
    assert!(fitted.note.starts_with("[image/jpeg 8×8, "), "{}", fitted.note);
    assert!(fitted.note.ends_with(": a label]"), "{}", fitted.note);
    assert_eq!(fitted.encoded.unwrap().0, "image/jpeg");
}

#[test]
fn an_undecodable_image_is_described() {
    let note = |json: &Json| {
        let fitted = fitted("image/png", json, None);
        assert!(fitted.encoded.is_none());
        fitted.note
    };
    assert_eq!(note(&json(b"hello")), "[image/png, 5 B, cannot be decoded]");
    assert_eq!(note(&Json::from_value(&json!("no base64 at all!"))), "[image/png, 12 B, cannot be decoded]");
    assert_eq!(note(&Json::from_value(&json!({}))), "[image/png, 0 B, cannot be decoded]");
    let mut cut = bytes_as(&noise(300, 300), ImageFormat::Png);
    cut.truncate(50_000);
    assert_eq!(note(&json(&cut)), "[image/png 300×300, 50 kB, cannot be decoded]");
}

#[test]
fn a_huge_image_is_not_decoded() {
    // A header that promises much, and nothing behind it.
    let mut bytes = bytes_as(&plain(1, 1), ImageFormat::Png);
    bytes[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    let crc = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    let fitted = fitted("image/png", &json(&bytes), None);
    assert!(fitted.encoded.is_none());
    let expected = format!("[image/png 16384×16384, {} B, left out: more than 25 megapixels]", bytes.len());
    assert_eq!(fitted.note, expected);
    assert!(description(&source("image/png", &json(&bytes), None)).starts_with("[image/png 16384×16384"));
}

#[test]
fn a_large_file_is_not_decoded() {
    let mut bytes = bytes_as(&plain(8, 8), ImageFormat::Png);
    bytes.resize(25_000_000, 0);
    let fitted = fitted("image/png", &json(&bytes), None);
    assert_eq!(fitted.note, "[image/png 8×8, 25.0 MB, left out: larger than 24 MB]");
}

#[test]
fn sixteen_bit_and_gray_images_are_accepted() {
    let deep = DynamicImage::from(::image::ImageBuffer::from_pixel(2000, 10, Rgb([60_000_u16, 5, 9])));
    let (_, mime, image, _) = sent(&bytes_as(&deep, ImageFormat::Png));
    assert_eq!((mime, image.color()), ("image/png", ::image::ColorType::Rgb8));
    let grey = plain(2000, 10).to_luma8().into();
    assert_eq!(sent(&bytes_as(&grey, ImageFormat::Png)).1, "image/png");
}

proptest! {
    #[test]
    fn no_bytes_panic(
        format in prop::sample::select(&[ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP][..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes_as(&noise(9, 7), format);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        bytes.truncate(length.index(2 * bytes.len()));
        let ready = fitted("image/png", &json(&bytes), None);
        prop_assert!(ready.note.starts_with("[image/"));
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
