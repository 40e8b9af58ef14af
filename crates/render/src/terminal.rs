//! Text as a terminal would show it in the end: escapes gone, progress bars at their last state.
//!
//! Works in one pass over pieces of any size and gives its result in pieces too, so that a stream of any
//! length costs no copy of it. `strip-ansi-escapes` is no help here: it drops `\r`, `\b` and tabs as well, and
//! with them what makes ten thousand lines of a progress bar one.

mod repeats;
mod screen;

use screen::Screen;

use self::repeats::Repeats;

/// How long the parameters of an escape sequence may be; longer ones are none that matter.
const PARAMETERS: usize = 32;

/// Takes text of a terminal and gives the lines that remain, without trailing blanks, to a function.
#[derive(Debug)]
pub(crate) struct Terminal<S: FnMut(&str)> {
    state: State,
    parameters: String,
    screen: Screen,
    lines: Repeats<S>,
}

/// Where in an escape sequence the text is (ECMA-48, as far as programs use it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: one more character.
    Charset,
    /// After ESC `[`.
    Control,
    /// In a string (a title, a link, an image of some terminals): up to BEL, ESC `\` or the end of the line.
    String,
}

impl<S: FnMut(&str)> Terminal<S> {
    /// `sink` gets the text piece by piece.
    pub(crate) fn new(sink: S) -> Self {
        Self {
            state: State::Text,
            parameters: String::new(),
            screen: Screen::default(),
            lines: Repeats::new(sink),
        }
    }

    /// Takes the next piece.
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
                self.take(character);
            }
            text = rest.as_str();
        }
    }

    /// Gives what is still on the screen.
    pub(crate) fn finish(mut self) {
        self.screen.finish(&mut self.lines);
    }

    fn take(&mut self, character: char) {
        match (self.state, character) {
            (State::String, '\x07') => self.state = State::Text,
            (_, '\x1b') => self.state = State::Escape,
            (State::String, '\n') => {
                self.state = State::Text;
                self.text(character);
            }
            (State::String, _) => {}
            // A control character inside a sequence acts as if it stood before it.
            (State::Text, _) | (_, '\0'..' ') => self.text(character),
            (State::Escape, '[') => {
                self.parameters.clear();
                self.state = State::Control;
            }
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => self.state = State::String,
            (State::Escape, ' '..='/') => self.state = State::Charset,
            (State::Escape | State::Charset, _) => self.state = State::Text,
            (State::Control, ' '..='?') => {
                if self.parameters.len() < PARAMETERS {
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
            _ => {}
        }
    }
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// The whole of `text` as a terminal would show it.
pub(crate) fn shown(text: &str) -> String {
    shown_pieces([text])
}

/// The same for text in pieces.
pub(crate) fn shown_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut shown = String::new();
    let mut terminal = Terminal::new(|text: &str| shown.push_str(text));
    pieces.into_iter().for_each(|piece| terminal.write(piece));
    terminal.finish();
    shown
}

#[cfg(test)]
mod tests;
