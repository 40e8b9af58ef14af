//! What programs write to a terminal, with its colours.

use render::{Colour, Style, styled};

use crate::contrast::{self, Rgb};
use crate::fragment::Fragment;

/// Text up to this length is one part, in bytes.
const SHORT: usize = 64 * 1024;
/// How many lines a part of longer text has: browsers lay out only the parts that are in view.
const PART_LINES: usize = 200;

/// Writes text as a terminal shows it at the end: colours as spans, progress bars in their last state.
pub(crate) fn write<'a>(pieces: impl IntoIterator<Item = &'a str>, html: &mut Fragment) {
    let styled = styled(pieces);
    if styled.iter().map(|piece| piece.text.len()).sum::<usize>() <= SHORT {
        for piece in &styled {
            write_piece(&piece.text, piece.style, html);
        }
        return;
    }
    let mut lines = 0;
    html.raw("<span class=\"cb-part\">");
    for piece in &styled {
        let mut rest = &*piece.text;
        while !rest.is_empty() {
            if lines == PART_LINES {
                html.raw("</span><span class=\"cb-part\">");
                lines = 0;
            }
            let end =
                rest.match_indices('\n').nth(PART_LINES - lines - 1).map_or(rest.len(), |(at, _)| at + 1);
            let (part, after) = rest.split_at(end);
            lines += part.matches('\n').count();
            write_piece(part, piece.style, html);
            rest = after;
        }
    }
    html.raw("</span>");
}

fn write_piece(text: &str, style: Style, html: &mut Fragment) {
    if style == Style::default() {
        html.text(text);
        return;
    }
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
    fn long_text_has_parts_of_whole_lines() {
        let written = |text: &str| {
            let mut html = Fragment::default();
            write([text], &mut html);
            html.as_str().to_owned()
        };
        let line = format!("{}\n", "x".repeat(400));
        for (text, lines) in [
            (format!("{}end", line.repeat(500)), vec![200, 200, 100]),
            (format!("{}end", line.repeat(400)), vec![200, 200, 0]),
            (format!("\x1b[31m{}\x1b[0mend", line.repeat(300)), vec![200, 100]),
            ("x".repeat(SHORT + 1), vec![0]),
        ] {
            let html = written(&text);
            let parts: Vec<_> = html.split("<span class=\"cb-part\">").skip(1).collect();
            assert_eq!(parts.iter().map(|part| part.matches('\n').count()).collect::<Vec<_>>(), lines);
            let node = &crate::testing::parsed(&format!("<pre>{html}</pre>")).all("pre")[0].clone();
            let (mut shown, mut others) = (0, 0);
            node.walk(&mut |node| shown += node.text.len());
            node.walk(&mut |node| others += usize::from(node.name != "pre" && node.name != "span"));
            assert_eq!((shown, others), (text.replace("\x1b[31m", "").replace("\x1b[0m", "").len(), 0));
        }
        assert!(!written(&line.repeat(100)).contains("cb-part"));
    }

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
