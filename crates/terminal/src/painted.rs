//! Text with colours.

use clap::builder::styling::Style;
use notebook::visible;

/// Text in which every escape sequence is ours.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Painted(String);

impl Painted {
    #[must_use]
    pub fn plain(self, text: &str) -> Self {
        self.styled(Style::new(), text)
    }

    #[must_use]
    pub fn styled(mut self, style: Style, text: &str) -> Self {
        let text = visible(text);
        if style == Style::new() {
            self.0.push_str(&text);
        } else {
            self.0.push_str(&format!("{style}{text}{style:#}"));
        }
        self
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use clap::builder::styling::AnsiColor;

    use super::*;

    #[test]
    fn only_our_colours_are_there() {
        let red = AnsiColor::Red.on_default();
        let text = Painted::default().plain("a\u{1b}[0m").styled(red, "b\u{1b}[2K\r");
        assert_eq!(text.as_str(), "a\\u{1b}[0m\u{1b}[31mb\\u{1b}[2K\\u{d}\u{1b}[0m");
    }
}
