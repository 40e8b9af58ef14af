//! What programs write to a terminal, with its colours.

use render::{Colour, Style, styled};

use crate::contrast::{self, Rgb};
use crate::fragment::Fragment;

/// Writes text as a terminal shows it at the end: colours as spans, progress bars in their last state.
pub(crate) fn write<'a>(pieces: impl IntoIterator<Item = &'a str>, html: &mut Fragment) {
    for piece in styled(pieces) {
        if piece.style == Style::default() {
            html.text(&piece.text);
        } else {
            write_piece(&piece.text, piece.style, html);
        }
    }
}

fn write_piece(text: &str, style: Style, html: &mut Fragment) {
    let (foreground, background) = if style.is_reversed {
        (style.background, style.foreground)
    } else {
        (style.foreground, style.background)
    };
    let classes = [
        (style.is_bold, "cb-bold "),
        (style.is_dim, "cb-dim "),
        (style.is_italic, "cb-italic "),
        (style.is_underlined, "cb-underlined "),
        (style.is_struck, "cb-struck "),
        (style.is_reversed && foreground.is_none(), "cb-reversed "),
        (style.is_reversed && background.is_none(), "cb-on-reversed "),
    ];
    let mut class: String = classes.iter().filter(|(is_set, _)| *is_set).map(|(_, class)| *class).collect();
    let mut own = String::new();
    let behind = background.and_then(fixed);
    match foreground {
        // The theme's own 16.
        Some(Colour::Indexed(index @ 0..16)) => class.push_str(&format!("cb-fg{index} ")),
        Some(colour) => own.extend(fixed(colour).map(|it| format!("color:{};", contrast::on(behind, it)))),
        None => own.extend(behind.map(|it| format!("color:{};", contrast::hex(contrast::ink(it))))),
    }
    match background {
        Some(Colour::Indexed(index @ 0..16)) => class.push_str(&format!("cb-bg{index} ")),
        _ => own.extend(behind.map(|it| format!("background-color:{};", contrast::hex(it)))),
    }
    html.raw("<span");
    if !class.is_empty() {
        html.attribute("class", class.trim_end());
    }
    if !own.is_empty() {
        html.attribute("style", &own);
    }
    html.raw(">").text(text).raw("</span>");
}

/// A colour that is the same in each theme.
fn fixed(colour: Colour) -> Option<Rgb> {
    match colour {
        Colour::Indexed(0..16) => None,
        Colour::Indexed(index) => Some(of_palette(index)),
        Colour::Rgb(red, green, blue) => Some([red, green, blue]),
    }
}

/// xterm's cube of 216 colours, and its 24 greys.
fn of_palette(index: u8) -> Rgb {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    if let Some(grey) = index.checked_sub(232) {
        [8 + 10 * grey; 3]
    } else {
        let index = index.saturating_sub(16);
        [level(index / 36), level(index / 6 % 6), level(index % 6)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_spans() {
        for (text, expected) in [
            ("a<b", "a&lt;b"),
            ("\x1b[31mred\x1b[0m", "<span class=\"cb-fg1\">red</span>"),
            ("\x1b[1;32;41mx", "<span class=\"cb-bold cb-fg2 cb-bg1\">x</span>"),
            ("\x1b[38;5;208mx", "<span style=\"color:light-dark(#9f5400,#ff8700);\">x</span>"),
            ("\x1b[48;2;1;2;3mx", "<span style=\"color:#ffffff;background-color:#010203;\">x</span>"),
            ("\x1b[38;5;255mx", "<span style=\"color:light-dark(#686868,#eeeeee);\">x</span>"),
            ("\x1b[7mx", "<span class=\"cb-reversed cb-on-reversed\">x</span>"),
            ("10%\r50%\r\x1b[32m100%\x1b[0m", "<span class=\"cb-fg2\">100%</span>"),
            ("\x1b]8;;javascript:x\x07link\x1b]8;;\x07", "link"),
        ] {
            let mut html = Fragment::default();
            write([text], &mut html);
            assert_eq!(html.as_str(), expected, "{text:?}");
        }
    }
}
