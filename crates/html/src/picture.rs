//! Images, which are in the page or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::fragment::Fragment;
use crate::url::{self, Picture};

/// What a reader is told of an image that its author did not describe.
const NO_ALT: &str = "Image";

/// An image by its address. One elsewhere becomes a link to it, so that the page makes no request.
pub(crate) fn at(address: &str, alt: &str, style: &str, is_in_link: bool, html: &mut Fragment) {
    let alt = if alt.trim().is_empty() { NO_ALT } else { alt };
    match url::picture(address) {
        Some(Picture::Data(address)) => embedded(&address, alt, style, html),
        Some(Picture::Remote(address)) if !is_in_link => {
            html.raw("<a").attribute("href", &address);
            html.raw(" target=\"_blank\" rel=\"noopener noreferrer\">").text(alt).raw("</a>");
            html.raw(" <span class=\"cb-note\">(image on another site, not loaded)</span>");
        }
        Some(Picture::Remote(_)) => {
            html.text(alt).raw(" <span class=\"cb-note\">(image on another site, not loaded)</span>");
        }
        Some(Picture::File(name)) => {
            html.text(alt)
                .raw(" <span class=\"cb-note\">(image in the file ")
                .text(&name)
                .raw(", not included)</span>");
        }
        None => {
            html.text(alt).raw(" <span class=\"cb-note\">(image, not shown)</span>");
        }
    }
}

/// The image in a `data:` address.
pub(crate) fn embedded(address: &str, alt: &str, style: &str, html: &mut Fragment) {
    html.raw("<img").attribute("alt", alt).attribute("src", address);
    if !style.is_empty() {
        html.attribute("style", style);
    }
    html.raw(">");
}

/// The `data:` address of an image from base64 with blanks in it; `None` if it is none.
pub(crate) fn data_address(mime: &str, content: &str) -> Option<String> {
    let content: String = content.chars().filter(|character| !character.is_whitespace()).collect();
    is_base64(&content).then(|| format!("data:{mime};base64,{content}"))
}

/// Whether text is base64 without blanks.
fn is_base64(text: &str) -> bool {
    let is_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    // The end shows whether it is whole; decoding 100 MB would take longer than writing them.
    let end = text.get(text.len().saturating_sub(64) / 4 * 4..).unwrap_or_default();
    !text.is_empty() && text.bytes().all(is_alphabet) && STANDARD.decode(end).is_ok()
}

/// A drawing as an image, in which no script runs and from which no request is made.
pub(crate) fn svg(svg: &str, alt: &str, html: &mut Fragment) {
    let file = render::svg_file(svg);
    let address = format!("data:image/svg+xml;base64,{}", STANDARD.encode(file.as_deref().unwrap_or(svg)));
    embedded(&address, alt, "", html);
}
