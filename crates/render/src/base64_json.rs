//! Decodes base64 in JSON.

use base64::Engine;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use notebook::Json;

/// Some kernels omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
/// The most bytes that `json` can contain as base64.
pub(crate) fn max_size(json: &Json) -> usize {
    json.bytes().len() / 4 * 3
}

/// Decodes at least the first `limit` bytes of a string or a list of strings. `None` if that part is not base64.
pub(crate) fn decode(json: &Json, limit: usize) -> Option<Vec<u8>> {
    let most = (limit / 3).saturating_add(1).saturating_mul(4);
    decoded(json.multiline_text()?.bytes(), most)
}

/// Decodes base64 with line breaks, those of JavaScript (`\` at the end of a line) included.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    decoded(text.bytes().filter(|byte| *byte != b'\\'), usize::MAX)
}

fn decoded(bytes: impl Iterator<Item = u8>, most: usize) -> Option<Vec<u8>> {
    let is_data = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b'=';
    BASE64.decode(bytes.filter(is_data).take(most).collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn decoded(json: &serde_json::Value) -> Option<Vec<u8>> {
        decode(&Json::from_value(json), usize::MAX / 2)
    }

    #[test]
    fn strings_and_lists_of_lines_are_read() {
        assert_eq!(decoded(&json!("aGVsbG8=")).unwrap(), b"hello");
        assert_eq!(decoded(&json!("aGVs\nbG8=\n")).unwrap(), b"hello");
        assert_eq!(decoded(&json!(["aGVs\n", "bG8"])).unwrap(), b"hello");
        assert_eq!(decoded(&json!("")).unwrap(), b"");
        let slash = Json::parse(bytes_of(r#""\/\/8=""#)).unwrap();
        assert_eq!(decode(&slash, 10).unwrap(), [255, 255]);
    }

    #[test]
    fn invalid_base64_is_refused() {
        for value in [json!("hel!o"), json!({ "a": "b" }), json!("\u{1}"), json!("a"), json!("ö")] {
            assert_eq!(decoded(&value), None, "{value}");
        }
    }

    #[test]
    fn long_data_is_decoded_up_to_the_limit() {
        let data: Vec<u8> = (0..=255).cycle().take(300_001).collect();
        let value = json!(STANDARD.encode(&data));
        assert_eq!(decoded(&value).unwrap(), data);
        let start = decode(&Json::from_value(&value), 1000).unwrap();
        assert!((1000..100_000).contains(&start.len()));
        assert!(data.starts_with(&start));
    }

    fn bytes_of(text: &'static str) -> bytes::Bytes {
        bytes::Bytes::from_static(text.as_bytes())
    }
}
