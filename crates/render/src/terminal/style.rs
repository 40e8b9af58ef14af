//! How a terminal shows text: its colours and its weight, as programs set them with `ESC [ … m` (ECMA-48, SGR).

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a terminal sets each of them apart from the others")]
pub struct Style {
    pub foreground: Option<Colour>,
    pub background: Option<Colour>,
    pub is_bold: bool,
    pub is_dim: bool,
    pub is_italic: bool,
    pub is_underlined: bool,
    pub is_reversed: bool,
    pub is_struck: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// 0 to 7, 8 to 15 for the bright ones, and the 240 of xterm.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl Style {
    /// The style after the parameters of a sequence: `1;31` is bold and red.
    pub(super) fn after(mut self, parameters: &str) -> Self {
        // A sequence of somebody's own, such as `ESC [ > 4 m`.
        if parameters.starts_with(['<', '=', '>', '?']) {
            return self;
        }
        let mut codes = parameters.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or_default());
        while let Some(code) = codes.next() {
            match code {
                0 => self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                7 => self.is_reversed = true,
                9 => self.is_struck = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                27 => self.is_reversed = false,
                29 => self.is_struck = false,
                38 => self.foreground = colour(&mut codes).or(self.foreground),
                39 => self.foreground = None,
                48 => self.background = colour(&mut codes).or(self.background),
                49 => self.background = None,
                30..=37 => self.foreground = indexed(code - 30),
                40..=47 => self.background = indexed(code - 40),
                90..=97 => self.foreground = indexed(code - 82),
                100..=107 => self.background = indexed(code - 92),
                _ => {}
            }
        }
        self
    }
}

fn indexed(code: u16) -> Option<Colour> {
    u8::try_from(code).ok().map(Colour::Indexed)
}

/// `5;n` or `2;r;g;b`.
fn colour(codes: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let byte = |codes: &mut dyn Iterator<Item = u16>| u8::try_from(codes.next()?).ok();
    match codes.next()? {
        5 => byte(codes).map(Colour::Indexed),
        2 => Some(Colour::Rgb(byte(codes)?, byte(codes)?, byte(codes)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_change_the_style() {
        let style = |parameters| Style::default().after(parameters);
        let red = Style { foreground: Some(Colour::Indexed(1)), ..Style::default() };
        for (parameters, expected) in [
            ("", Style::default()),
            ("31", red),
            ("1;31", Style { is_bold: true, ..red }),
            ("1;31;22", red),
            ("31;0", Style::default()),
            ("91", Style { foreground: Some(Colour::Indexed(9)), ..Style::default() }),
            ("107", Style { background: Some(Colour::Indexed(15)), ..Style::default() }),
            ("38;5;208", Style { foreground: Some(Colour::Indexed(208)), ..Style::default() }),
            ("48;2;1;2;3", Style { background: Some(Colour::Rgb(1, 2, 3)), ..Style::default() }),
            ("38;5", Style::default()),
            ("38;5;999", Style::default()),
            (">31", Style::default()),
            ("999;x", Style::default()),
        ] {
            assert_eq!(style(parameters), expected, "{parameters:?}");
        }
    }
}
