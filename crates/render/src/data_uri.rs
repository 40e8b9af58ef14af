//! Shortens `data:` URIs.

use std::borrow::Cow;

use notebook::Json;

use crate::offsets::{Replaced, Replacing};
use crate::{base64_json, size, svg};

/// Shorter URIs stay.
const MIN_LENGTH: usize = 100;

/// The type and size of a `data:` URI; `None` for any other text.
pub(crate) fn described(address: &str) -> Option<String> {
    let (head, content) = address.strip_prefix("data:")?.split_once(',')?;
    let mime = head.split(';').next().filter(|mime| !mime.is_empty()).unwrap_or("text/plain");
    if let Some(drawing) = drawing(address) {
        return Some(svg::described(&drawing));
    }
    let is_base64 = head.ends_with(";base64");
    let bytes = if is_base64 { content.len() / 4 * 3 } else { content.len() };
    Some(format!("{mime}, {}", size(bytes)))
}

/// The SVG in a `data:` URI, unless its characters are escaped.
pub(crate) fn drawing(address: &str) -> Option<String> {
    let (head, content) = address.strip_prefix("data:image/svg+xml")?.split_once(',')?;
    if head.ends_with(";base64") {
        let bytes = base64_json::decode(&Json::from_value(&content.into()), usize::MAX / 2)?;
        String::from_utf8(bytes).ok()
    } else {
        Some(content.to_owned()).filter(|content| content.trim_start().starts_with('<'))
    }
}

/// The `data:` URIs of images in `text`, at most `most`.
pub(crate) fn images(text: &str, most: usize) -> Vec<String> {
    let mut images = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("data:image/").filter(|_| images.len() < most) {
        let address = &rest[start..];
        let (address, after) = address.split_at(uri_length(address));
        if address.contains(',') {
            images.push(address.to_owned());
        }
        rest = after;
    }
    images
}

/// `text` with its long base64 `data:` URIs shortened: `data:image/png;base64,… (12 kB)`.
pub fn without_data_uris(text: &str) -> Cow<'_, str> {
    shortened(text).text
}

/// The same, with the positions in `text`.
pub(crate) fn shortened(text: &str) -> Replaced<'_> {
    let mut shown = Replacing::default();
    let mut rest = if text.contains(";base64,") { text } else { "" };
    while let Some(start) = rest.find("data:") {
        let (before, address) = rest.split_at(start);
        shown.keep(before);
        let (address, after) = address.split_at(uri_length(address));
        match address.split_once(',').filter(|_| address.len() >= MIN_LENGTH) {
            Some((head, content)) => {
                let size = size(content.len() / 4 * 3);
                shown.replace(address, &format!("{head},… ({size})"));
            }
            None => shown.keep(address),
        }
        rest = after;
    }
    shown.keep(rest);
    shown.finish(text)
}

/// The length of the URI at the start of `text`; that of `data:` if what follows is not base64.
fn uri_length(text: &str) -> usize {
    let scheme = "data:".len();
    let is_head = |byte: u8| byte.is_ascii_alphanumeric() || b"/+-.;=".contains(&byte);
    let head = text.bytes().skip(scheme).position(|byte| !is_head(byte)).map_or(text.len(), |at| scheme + at);
    if !text[..head].ends_with(";base64") || !text[head..].starts_with(',') {
        return scheme;
    }
    let is_content = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_%".contains(&byte);
    text.bytes().skip(head + 1).position(|byte| !is_content(byte)).map_or(text.len(), |at| head + 1 + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_uris_are_shortened() {
        let text = format!("![dot](data:image/png;base64,{}) and more", "A".repeat(400));
        assert_eq!(without_data_uris(&text), "![dot](data:image/png;base64,… (300 B)) and more");
        let two = format!("'{0}' '{0}'", format_args!("data:a/b;base64,{}", "A".repeat(200)));
        assert_eq!(without_data_uris(&two), "'data:a/b;base64,… (150 B)' 'data:a/b;base64,… (150 B)'");
    }

    #[test]
    fn positions_lead_to_the_original() {
        let source = format!("ä\n![dot](data:image/png;base64,{})\nlast", "A".repeat(4000));
        let Replaced { text, offsets } = shortened(&source);
        assert_eq!(text, "ä\n![dot](data:image/png;base64,… (3 kB))\nlast");
        let at = |text: &str, part: &str| text[..text.find(part).unwrap()].chars().count();
        for part in ["![dot", "data:", ")\nlast", "last"] {
            assert_eq!(offsets.original(at(&text, part)), at(&source, part), "{part}");
        }
        assert_eq!(offsets.first_change(), Some(at(&text, "data:")));
        assert_eq!(shortened("a\nb").offsets.first_change(), None);
    }

    #[test]
    fn short_uris_and_other_text_stay() {
        for text in
            ["data: 1;base64,", "no data:image/png;base64,iVBORw0KGgo= here", "data:,a;base64,", "data:"]
        {
            assert_eq!(without_data_uris(text), text);
        }
    }

    #[test]
    fn a_uri_is_described_by_type_and_size() {
        assert_eq!(described("data:audio/wav;base64,AAAABBBB").as_deref(), Some("audio/wav, 6 B"));
        assert_eq!(described("data:,hello").as_deref(), Some("text/plain, 5 B"));
        assert_eq!(described("https://example.org/a,b"), None);
    }
}
