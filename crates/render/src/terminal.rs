//! Renders text as a terminal would show it at the end: without escape sequences, progress bars in their last state.
//!
//! It works in one pass over pieces of any size and produces pieces too, so that a stream of any length is never copied.
//!
//! Example: `10%\r 50%\r100%\ndone` becomes `100%\ndone`. `\r` moves the cursor to column 0, and what follows overwrites
//! the line; a program that draws two bars goes up a line with `ESC [ A` and overwrites there.
//!
//! The parser is not `vte`: a string sequence that is never terminated (a cut link or title) ends at the line break here,
//! where `vte` would swallow the rest of the output, and plain text is passed on in whole pieces, not by characters.

mod repeats;
mod screen;
mod style;

use screen::Screen;
pub use style::{Colour, Style};

use self::repeats::Repeats;

/// The longest parameters of an escape sequence that are kept; no longer ones matter here.
const MAX_PARAMETERS: usize = 64;

/// Takes the text that a program writes to a terminal, and passes on the lines that remain, without trailing blanks.
#[derive(Debug)]
pub(crate) struct Terminal<S: FnMut(&str)> {
    state: State,
    parameters: String,
    screen: Screen,
    lines: Repeats<S>,
    /// Whether what is passed on names the styles of its text.
    has_styles: bool,
}

/// A piece of a terminal's text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    pub text: String,
    pub style: Style,
}

/// The position in an escape sequence (ECMA-48, as far as programs use it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: one more character follows.
    Charset,
    /// After ESC `[`.
    Control,
    /// In a string (a title, a link, an image): up to BEL, ESC `\` or the end of the line.
    String,
}

impl<S: FnMut(&str)> Terminal<S> {
    /// `sink` receives the text piece by piece.
    pub(crate) fn new(sink: S) -> Self {
        Self {
            state: State::Text,
            parameters: String::new(),
            screen: Screen::default(),
            lines: Repeats::new(sink),
            has_styles: false,
        }
    }

    pub(crate) fn write(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.state == State::Text {
                let end = text.bytes().position(is_control).unwrap_or(text.len());
                let (plain, rest) = text.split_at(end);
                if !plain.is_empty() {
                    self.screen.print(plain, &mut self.lines);
                }
                text = rest;
            }
            let mut rest = text.chars();
            if let Some(character) = rest.next() {
                self.handle(character);
            }
            text = rest.as_str();
        }
    }

    /// Passes on what is still on the screen.
    pub(crate) fn finish(mut self) {
        self.screen.finish(&mut self.lines);
    }

    fn handle(&mut self, character: char) {
        match (self.state, character) {
            (State::String, '\x07') => self.state = State::Text,
            (_, '\x1b') => self.state = State::Escape,
            (State::String, '\n') => {
                self.state = State::Text;
                self.text(character);
            }
            (State::String, _) => {}
            // A control character within a sequence takes effect at once; the sequence goes on.
            (State::Text, _) | (_, '\0'..' ') => self.text(character),
            (State::Escape, '[') => {
                self.parameters.clear();
                self.state = State::Control;
            }
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => self.state = State::String,
            (State::Escape, ' '..='/') => self.state = State::Charset,
            (State::Escape | State::Charset, _) => self.state = State::Text,
            (State::Control, ' '..='?') => {
                if self.parameters.len() < MAX_PARAMETERS {
                    self.parameters.push(character);
                }
            }
            (State::Control, '@'..='~') => {
                self.state = State::Text;
                self.control(character);
            }
            (State::Control, _) => {
                self.state = State::Text;
                self.text(character);
            }
        }
    }

    fn text(&mut self, character: char) {
        match character {
            '\n' | '\x0b' | '\x0c' => self.screen.line_feed(&mut self.lines),
            '\r' => self.screen.move_to_column(0),
            '\x08' => self.screen.back(1),
            '\0'..' ' | '\x7f' if character != '\t' => {}
            _ => self.screen.print(character.encode_utf8(&mut [0; 4]), &mut self.lines),
        }
    }

    fn control(&mut self, function: char) {
        let first = self.parameters.split(';').next().unwrap_or_default();
        let given: Option<usize> = first.parse().ok();
        let count = given.unwrap_or(1).max(1);
        match function {
            'A' => self.screen.up(count),
            'B' => self.screen.down(count),
            'C' => self.screen.forward(count),
            'D' => self.screen.back(count),
            'E' => {
                self.screen.down(count);
                self.screen.move_to_column(0);
            }
            'F' => {
                self.screen.up(count);
                self.screen.move_to_column(0);
            }
            'G' => self.screen.move_to_column(count - 1),
            'J' if given.unwrap_or(0) == 0 => self.screen.erase_below(),
            'K' => self.screen.erase_line(given.unwrap_or(0)),
            'm' if self.has_styles => self.screen.change_style(&self.parameters),
            _ => {}
        }
    }
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// `text` as a terminal would show it.
pub fn render(text: &str) -> String {
    render_pieces([text])
}

/// Text in pieces as a terminal would show it.
pub(crate) fn render_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut rendered = String::new();
    let mut terminal = Terminal::new(|text: &str| rendered.push_str(text));
    pieces.into_iter().for_each(|piece| terminal.write(piece));
    terminal.finish();
    rendered
}

/// Text in pieces as a terminal would show it to a person: with its colours, and every line of it.
pub fn styled<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<StyledText> {
    let mut rendered = String::new();
    let sink = |text: &str| rendered.push_str(text);
    let lines = Repeats::uncounted(sink);
    let mut terminal = Terminal {
        state: State::Text,
        parameters: String::new(),
        screen: Screen::default(),
        lines,
        has_styles: true,
    };
    pieces.into_iter().for_each(|piece| terminal.write(piece));
    terminal.screen.finish(&mut terminal.lines);
    let styles = terminal.screen.into_styles();
    // The screen passes on no escape sequences but its own.
    let mut parts = rendered.split('\x1b');
    let first = parts.next().map(|text| (Style::default(), text));
    let others = parts.filter_map(|part| {
        let (index, text) = part.split_once('m')?;
        Some((styles.get(index.parse::<usize>().ok()?).copied()?, text))
    });
    let pieces = first.into_iter().chain(others).filter(|(_, text)| !text.is_empty());
    pieces.map(|(style, text)| StyledText { text: text.to_owned(), style }).collect()
}

#[cfg(test)]
mod tests;
