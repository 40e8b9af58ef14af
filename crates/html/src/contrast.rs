//! Colours of a terminal that can be read in each theme.

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// The backgrounds of text in the light and the dark theme that leave the least contrast: `--cb-box`.
const LIGHT: Rgb = [0xf4, 0xf5, 0xf7];
const DARK: Rgb = [0x20, 0x24, 0x2b];
/// What WCAG 2.2 asks for text (success criterion 1.4.3).
const ENOUGH: f64 = 4.5;

/// The value of a `color` for text of this colour, on a background of its own or on those of the themes.
pub(crate) fn on(background: Option<Rgb>, colour: Rgb) -> String {
    let [light, dark] = background.map_or([LIGHT, DARK], |own| [own; 2]).map(|it| legible(colour, it));
    if light == dark { hex(light) } else { format!("light-dark({},{})", hex(light), hex(dark)) }
}

/// The colour of text that has none, on this background.
pub(crate) fn ink(background: Rgb) -> Rgb {
    if luminance(background) > 0.18 { [0; 3] } else { [255; 3] }
}

pub(crate) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The nearest mixture with black or white that has enough contrast.
fn legible(colour: Rgb, background: Rgb) -> Rgb {
    let end = ink(background);
    let mixed = |part: u16| {
        let mix = |from: u8, to: u8| (u16::from(from) * (16 - part) + u16::from(to) * part) / 16;
        [0, 1, 2].map(|at| u8::try_from(mix(colour[at], end[at])).unwrap_or(u8::MAX))
    };
    (0..16).map(mixed).find(|it| contrast(*it, background) >= ENOUGH).unwrap_or(end)
}

/// <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let [one, other] = [one, other].map(luminance);
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>
fn luminance(colour: Rgb) -> f64 {
    let linear = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_stay_where_they_can_be_read() {
        assert_eq!(on(None, [0x5f, 0x87, 0x87]), "light-dark(#537676,#739696)");
        assert_eq!(on(Some([0; 3]), [0xff, 0x87, 0]), "#ff8700");
        assert_eq!((ink([0xff, 0xff, 0]), ink([0, 0, 0x5f])), ([0; 3], [255; 3]));
    }

    proptest! {
        #[test]
        fn every_colour_can_be_read(colour: Rgb, background: Rgb) {
            for background in [LIGHT, DARK, background] {
                prop_assert!(contrast(legible(colour, background), background) >= ENOUGH);
            }
        }
    }
}
