//! The last lines of a terminal, which the program can still change.
//!
//! Example: after `a\nbcd`, the rows are `a` and `bcd`, the cursor is in row 1, and `column` is `None`: the end of the line.
//! `\r` sets it to 0; `X` then turns `bcd` into the characters `X`, `c`, `d`, and the column is 1. `ESC [ A` goes up to row 0
//! and keeps column 1, which is the end of `a`; `Y` makes it `aY`. A line feed in the last row adds a row, and when there
//! are 64, the first row is final and passed on.

use std::collections::VecDeque;

use super::repeats::Repeats;
use super::style::Style;

/// The lines that the cursor can still reach by going up.
const MAX_ROWS: usize = 64;
/// The last column to which the cursor can move beyond the end of a line.
const MAX_COLUMN: usize = 1000;
/// The blanks that cursor movements can insert into one text: they bound what a few bytes can grow to.
const MAX_PADDING: usize = 1024 * 1024;
/// When the last line exceeds this size in bytes, its start becomes final, so that memory is bounded.
const MAX_LINE: usize = 64 * 1024;
/// The most styles that are told apart. Text in further ones has none.
const MAX_STYLES: usize = 4096;

#[derive(Debug)]
pub(super) struct Screen {
    rows: VecDeque<Line>,
    row: usize,
    /// `None` is the end of the line, where nearly all text is written.
    column: Option<usize>,
    /// The blanks inserted so far.
    padding: usize,
    /// The buffer of a line that was passed on, to be used again.
    spare: String,
    /// The styles that text was written in. The first is none.
    styles: Vec<Style>,
    /// The index of the style in which text is written.
    style: u16,
}

/// A line. It is split into characters only when something within it changes, or has a style.
#[derive(Debug)]
enum Line {
    Text(String),
    Cells(Vec<Cell>),
}

/// A character with the index of its style.
#[derive(Debug, Clone, Copy)]
struct Cell {
    character: char,
    style: u16,
}

impl Cell {
    const BLANK: Self = Self { character: ' ', style: 0 };
}

impl Default for Screen {
    fn default() -> Self {
        let rows = VecDeque::from([Line::Text(String::new())]);
        let styles = vec![Style::default()];
        Self { rows, row: 0, column: None, padding: 0, spare: String::new(), styles, style: 0 }
    }
}

impl Screen {
    /// Writes text without control characters at the cursor.
    pub(super) fn print<S: FnMut(&str)>(&mut self, text: &str, lines: &mut Repeats<S>) {
        if self.row + 1 == self.rows.len() && self.rows[self.row].len() + text.len() > MAX_LINE {
            self.release(lines);
            if text.len() > MAX_LINE && self.style == 0 {
                lines.part(text);
                return;
            }
        }
        let style = self.style;
        match (self.column, &mut self.rows[self.row]) {
            (None, Line::Text(line)) if style == 0 => line.push_str(text),
            (None, line) => line.cells().extend(text.chars().map(|character| Cell { character, style })),
            (Some(column), line) => {
                let cells = line.cells();
                let missing = column.saturating_sub(cells.len()).min(MAX_PADDING - self.padding);
                self.padding += missing;
                cells.extend(std::iter::repeat_n(Cell::BLANK, missing));
                let mut column = column.min(cells.len());
                for cell in text.chars().map(|character| Cell { character, style }) {
                    match cells.get_mut(column) {
                        Some(present) => *present = cell,
                        None => cells.push(cell),
                    }
                    column += 1;
                }
                self.column = (column < cells.len()).then_some(column);
            }
        }
    }

    /// Changes the style of what is written from now on, by the parameters of an escape sequence.
    pub(super) fn change_style(&mut self, parameters: &str) {
        let style = self.styles[usize::from(self.style)].after(parameters);
        let index = self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            if self.styles.len() == MAX_STYLES {
                return 0;
            }
            self.styles.push(style);
            self.styles.len() - 1
        });
        self.style = u16::try_from(index).unwrap_or_default();
    }

    pub(super) fn into_styles(self) -> Vec<Style> {
        self.styles
    }

    /// Passes on all rows; what follows continues the last one.
    fn release<S: FnMut(&str)>(&mut self, lines: &mut Repeats<S>) {
        while self.rows.len() > 1 {
            self.release_first(lines);
        }
        if let Some(line) = self.rows.front_mut() {
            lines.part(&line.take());
        }
        self.column = None;
    }

    fn release_first<S: FnMut(&str)>(&mut self, lines: &mut Repeats<S>) {
        if let Some(mut line) = self.rows.pop_front() {
            let mut text = line.take();
            lines.line(&text);
            text.clear();
            self.spare = text;
        }
        self.row = self.row.saturating_sub(1);
    }

    /// Moves to the start of the next line.
    pub(super) fn line_feed<S: FnMut(&str)>(&mut self, lines: &mut Repeats<S>) {
        self.row += 1;
        self.column = Some(0);
        if self.row == self.rows.len() {
            if self.rows.len() == MAX_ROWS {
                self.release_first(lines);
            }
            self.rows.push_back(Line::Text(std::mem::take(&mut self.spare)));
            self.column = None;
        }
    }

    pub(super) fn move_to_column(&mut self, column: usize) {
        let is_empty = self.rows[self.row].len() == 0;
        self.column = (column > 0 || !is_empty).then_some(column.min(self.limit()));
    }

    pub(super) fn back(&mut self, count: usize) {
        let column = self.column.unwrap_or_else(|| self.rows[self.row].cells().len());
        self.move_to_column(column.saturating_sub(count));
    }

    pub(super) fn forward(&mut self, count: usize) {
        let column = self.column.unwrap_or_else(|| self.rows[self.row].cells().len());
        self.move_to_column(column.saturating_add(count));
    }

    /// Keeps the column, as terminals do; nested progress bars rely on it.
    pub(super) fn up(&mut self, count: usize) {
        self.clip_column();
        self.row = self.row.saturating_sub(count);
    }

    pub(super) fn down(&mut self, count: usize) {
        self.clip_column();
        self.row = self.row.saturating_add(count).min(self.rows.len() - 1);
    }

    fn clip_column(&mut self) {
        if self.column.is_none() {
            self.column = Some(self.rows[self.row].cells().len());
        }
        self.column = self.column.map(|column| column.min(MAX_COLUMN));
    }

    /// Part 0 is from the cursor to the end, 1 is up to the cursor, and any other is the whole line.
    pub(super) fn erase_line(&mut self, part: usize) {
        let Some(column) = self.column else {
            if part > 0 {
                // Erased text leaves the cursor where it was.
                let column = self.rows[self.row].cells().len().min(MAX_COLUMN);
                self.rows[self.row].cells().clear();
                self.column = (column > 0).then_some(column);
            }
            return;
        };
        let cells = self.rows[self.row].cells();
        match part {
            0 => cells.truncate(column),
            1 => cells.iter_mut().take((column + 1).min(MAX_COLUMN)).for_each(|cell| *cell = Cell::BLANK),
            _ => cells.clear(),
        }
        self.column = Some(column.min(cells.len().max(MAX_COLUMN)));
    }

    /// Erases from the cursor to the end of the screen.
    pub(super) fn erase_below(&mut self) {
        self.erase_line(0);
        self.rows.truncate(self.row + 1);
    }

    pub(super) fn finish<S: FnMut(&str)>(&mut self, lines: &mut Repeats<S>) {
        self.style = 0;
        while !self.rows.is_empty() {
            self.release_first(lines);
        }
        lines.finish();
    }

    fn limit(&self) -> usize {
        self.rows[self.row].len().max(MAX_COLUMN)
    }
}

impl Line {
    /// In bytes or in characters, whichever are stored: both bound its size.
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Cells(cells) => cells.len(),
        }
    }

    fn cells(&mut self) -> &mut Vec<Cell> {
        loop {
            match self {
                Self::Text(text) => {
                    let cells = text.chars().map(|character| Cell { character, style: 0 });
                    *self = Self::Cells(cells.collect());
                }
                Self::Cells(cells) => return cells,
            }
        }
    }

    fn take(&mut self) -> String {
        match self {
            Self::Text(text) => std::mem::take(text),
            Self::Cells(cells) => written(&std::mem::take(cells)),
        }
    }
}

/// The text of a line, with `ESC` and the index of a style, up to `m`, where another style starts. A line ends without style.
fn written(cells: &[Cell]) -> String {
    let mut text = String::with_capacity(cells.len());
    let mut style = 0;
    let end = Cell { character: ' ', style: 0 };
    for (at, cell) in cells.iter().chain([&end]).enumerate() {
        if cell.style != style {
            style = cell.style;
            text.push_str(&format!("\x1b{style}m"));
        }
        if at < cells.len() {
            text.push(cell.character);
        }
    }
    text
}
