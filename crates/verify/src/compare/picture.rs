//! Compares pictures by their pixels.

mod measure;

use std::io::Cursor;
use std::time::Duration;

use image::codecs::gif::GifDecoder;
use image::{AnimationDecoder, DynamicImage, ImageFormat, ImageReader, Limits};

use super::findings::Findings;
use measure::{Likeness, Pixels};

/// The memory that decoding one may take, in bytes.
const MAX_MEMORY: u64 = 100_000_000;
/// Further frames of an animation are not compared, nor are pictures of more pixels in all.
const MAX_FRAMES: usize = 500;

/// Bytes as base64, with line breaks and escaped characters.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.replace("\\n", "").replace("%2B", "+").replace("%2F", "/").replace("%3D", "=");
    render::decode_base64(&text)
}

/// Compares two pictures in `data:` URIs.
pub(crate) fn compare_uris(place: &str, before: &str, after: &str, findings: &mut Findings) {
    let content = |uri: &str| uri.split_once(',').map_or(String::new(), |(_, content)| content.to_owned());
    compare_base64(place, &content(before), &content(after), findings);
}

/// Compares two pictures as base64, and notes whether they are only close, and what differs.
pub(crate) fn compare_base64(place: &str, before: &str, after: &str, findings: &mut Findings) {
    if before == after {
        return;
    }
    let place = place.trim_start();
    let named = |what: &str| format!(" {place}{}{what}", if place.is_empty() { "" } else { " " });
    let (Some(before), Some(after)) = (decode_base64(before), decode_base64(after)) else {
        return findings.difference(named("differs, and is not base64"));
    };
    if before == after {
        return;
    }
    match compare(&before, &after) {
        Some(Likeness::Same) => {}
        Some(Likeness::Close) => findings.close_picture(),
        Some(Likeness::Different(how)) => findings.difference(named(&format!("differs {how}"))),
        None => findings.difference(named(&format!(
            "differs: {} bytes became {}, in no format that can be compared",
            before.len(),
            after.len()
        ))),
    }
}

/// `None` if one cannot be decoded.
fn compare(before: &[u8], after: &[u8]) -> Option<Likeness> {
    let (one, other) = (frames(before)?, frames(after)?);
    let is_lossy = [before, after]
        .iter()
        .any(|bytes| matches!(image::guess_format(bytes), Ok(ImageFormat::Jpeg | ImageFormat::WebP)));
    if one.len() != other.len() {
        return Some(Likeness::Different(format!("in its frames: {} became {}", one.len(), other.len())));
    }
    let mut worst = Likeness::Same;
    for (number, (one, other)) in one.iter().zip(&other).enumerate() {
        match one.compare(other, is_lossy) {
            Likeness::Same => {}
            Likeness::Close => worst = Likeness::Close,
            Likeness::Different(how) if number > 0 => {
                return Some(Likeness::Different(format!("in frame {}, {how}", number + 1)));
            }
            different @ Likeness::Different(_) => return Some(different),
        }
    }
    Some(worst)
}

/// A picture, or one of an animation.
struct Frame {
    pixels: Pixels,
    /// How long it is shown.
    delay: Duration,
}

impl Frame {
    fn of(picture: DynamicImage) -> Self {
        Self { pixels: Pixels::of(&picture.into_rgba8()), delay: Duration::ZERO }
    }

    fn compare(&self, other: &Self, is_lossy: bool) -> Likeness {
        match measure::compare(&self.pixels, &other.pixels, is_lossy) {
            different @ Likeness::Different(_) => different,
            _ if self.delay != other.delay => {
                let (before, after) = (self.delay.as_millis(), other.delay.as_millis());
                Likeness::Different(format!("in duration: {before} ms became {after} ms"))
            }
            likeness => likeness,
        }
    }
}

/// The picture, or those of an animation.
fn frames(bytes: &[u8]) -> Option<Vec<Frame>> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    if let Ok(ImageFormat::Gif) = image::guess_format(bytes) {
        use image::ImageDecoder;
        let mut decoder = GifDecoder::new(Cursor::new(bytes)).ok()?;
        decoder.set_limits(limits).ok()?;
        let frames = decoder.into_frames().take(MAX_FRAMES);
        let frame = |frame: image::Frame| {
            let delay = frame.delay().into();
            Frame { delay, ..Frame::of(frame.into_buffer().into()) }
        };
        return frames.map(|it| it.ok().map(frame)).collect();
    }
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    reader.limits(limits);
    reader.decode().ok().map(|picture| vec![Frame::of(picture)])
}
