//! Finds spaces around the headers and cells of a data frame.
//!
//! pandas removes them from its HTML, where `"Order Date "` and `"Order Date"` look the same, but its plain text is aligned as if they
//! were there: values and headers end at the right edge of their column. Between columns is one space, and another before most values
//! and before headers of numbers.
//!
//! Example: in the column
//!
//! ```text
//!   Order Date   Region
//! 0  2020-01-01  SOUTH
//! ```
//!
//! the dates end in column 13 and the header in column 12, so that the header ends with a space. Spaces at the start of a text only make
//! its column wider, and the column does not say for which of its texts. Such columns are named in a note. Labels of rows are aligned
//! to the left, and their spaces at the start can be seen. Where all names or labels start with spaces, pandas leaves out as many as
//! they share, and nothing shows them; only the kernel knows them (`memory/handler/spaces.py` in `kernel`).

mod line;

use crate::html::Shape;
use line::{Found, bare, find};

/// Larger tables are left as they are, in bytes.
const MAX_SIZE: usize = 200_000;
/// The most columns that a note names.
const MAX_NAMED: usize = 5;

/// How the headers of columns are aligned, as far as the HTML says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    Right,
    Left,
    /// Nothing is said of headers with several levels.
    Levels,
}

/// A column of a block of lines.
#[derive(Default)]
struct Column {
    /// The column of the table.
    index: usize,
    /// Its texts, by row.
    texts: Vec<Option<Found>>,
    /// Where it starts at the latest, if its texts have as few spaces of pandas before them as possible, and as many.
    starts: (usize, usize),
    /// Where it ends, and whether that is certain.
    edge: usize,
    is_edge_sure: bool,
}

/// The table `text`, with tabs between its cells, with those quoted of which `plain` proves the spaces, and with notes about spaces of
/// which the place is not certain.
pub(super) fn with_spaces(text: &str, plain: &str, shape: Shape, headers: Headers) -> Option<String> {
    if text.len() > MAX_SIZE || plain.len() > MAX_SIZE {
        return None;
    }
    let lines: Vec<Vec<char>> = plain.lines().map(|line| line.chars().collect()).collect();
    let mut blocks: Vec<&[Vec<char>]> = lines.split(Vec::is_empty).filter(|block| block.len() > 1).collect();
    let count = blocks.first()?.len();
    blocks.retain(|block| block.len() == count);
    let mut table = Table::new(text.lines().take(count), shape, headers);
    if table.rows.len() < count || count <= shape.headers || shape.labels == 0 {
        return None;
    }
    let mut first = shape.labels;
    for (at, block) in blocks.iter().enumerate() {
        // Columns that do not fit into a line follow in a further block, and a backslash says so.
        let margin = if blocks.len() == 1 { 0 } else { 2 + usize::from(at + 1 < blocks.len()) };
        let columns = table.columns(block, first, margin)?;
        table.spell(&columns);
        columns.iter().take(shape.labels).for_each(|column| table.quote_labels(column));
        if !table.has_left_headers(&columns) {
            table.quote(&columns);
        }
        first += columns.len() - shape.labels;
    }
    (first == table.width).then(|| table.finish(text, count))
}

struct Table {
    rows: Vec<Vec<String>>,
    /// The rows as they are shown.
    shown: Vec<Vec<String>>,
    width: usize,
    shape: Shape,
    headers: Headers,
    /// The columns in which spaces have no certain place.
    unplaced: Vec<usize>,
}

impl Table {
    fn new<'a>(lines: impl Iterator<Item = &'a str>, shape: Shape, headers: Headers) -> Self {
        let mut rows: Vec<Vec<String>> =
            lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        // Empty cells at the end of a row are not written.
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        for row in &mut rows {
            row.resize(width, String::new());
        }
        let shown = rows.clone();
        Self { rows, shown, width, shape, headers, unplaced: Vec::new() }
    }

    /// The labels of rows and the columns from `first` on that stand in this block of lines, of which the last ends `margin` before the
    /// end of the lines; `None` if the lines are not those of the rows, or were not padded as pandas does.
    fn columns(&self, block: &[Vec<char>], first: usize, margin: usize) -> Option<Vec<Column>> {
        let length = block.first()?.len();
        if block.iter().any(|line| line.len() != length) {
            return None;
        }
        let mut rows = Vec::new();
        for (row, line) in self.rows.iter().zip(block) {
            let (mut at, mut texts) = (0, Vec::new());
            for index in (0..self.shape.labels).chain(first..self.width) {
                let is_over = || line.iter().skip(at).all(|character| matches!(character, ' ' | '\\'));
                if margin > 0 && index >= first && is_over() {
                    break;
                }
                texts.push(find(line, row.get(index)?, &mut at).ok()?);
            }
            rows.push(texts);
        }
        // Rows can end with empty cells, and the one with the names of the index has nothing else.
        let filled = rows.iter().zip(&self.rows).filter(|(_, row)| !self.names_index(row));
        let count = filled.map(|(texts, _)| texts.len()).max()?;
        let indexes = (0..self.shape.labels).chain(first..self.width).take(count);
        let column = |(place, index)| {
            let texts = rows.iter().map(|texts| texts.get(place).cloned().flatten()).collect();
            Column { index, texts, ..Column::default() }
        };
        let mut columns: Vec<Column> = indexes.enumerate().map(column).collect();
        for column in &mut columns {
            column.starts = self.starts(column);
        }
        self.find_edges(&mut columns, length.checked_sub(margin)?);
        (columns.len() > self.shape.labels).then_some(columns)
    }

    fn is_label(&self, column: &Column) -> bool {
        column.index < self.shape.labels
    }

    /// The texts of a column below its headers.
    fn values<'a>(&'a self, column: &'a Column) -> impl Iterator<Item = (&'a str, &'a Found)> {
        let rows = self.rows.iter().zip(&column.texts).skip(self.shape.headers);
        rows.filter_map(|(row, found)| Some((&*row[column.index], found.as_ref()?)))
    }

    /// Where it starts at the latest, if its texts have as few spaces of pandas before them as possible, and as many.
    fn starts(&self, column: &Column) -> (usize, usize) {
        let starts = column.texts.iter().enumerate().filter_map(|(row, found)| {
            let start = found.as_ref().filter(|_| !self.is_label(column) || self.is_in_place(row))?.start;
            let (least, most) = self.leads(column, row);
            Some((start.saturating_sub(least), start.saturating_sub(most)))
        });
        starts.fold((usize::MAX, usize::MAX), |all, one| (all.0.min(one.0), all.1.min(one.1)))
    }

    /// The text without quotes, as the plain text has it.
    fn text(&self, column: &Column, row: usize) -> String {
        let exact = column.texts[row].as_ref().and_then(|found| found.exact.clone());
        exact.unwrap_or_else(|| bare(&self.rows[row][column.index]))
    }

    /// Whether the labels of this row stand in their columns. The name of the columns is in the last of several in HTML, and in the
    /// first in plain text.
    fn is_in_place(&self, row: usize) -> bool {
        row >= self.shape.headers || self.shape.labels == 1 || self.names_index(&self.rows[row])
    }

    fn names_index(&self, row: &[String]) -> bool {
        row[self.shape.labels..].iter().all(String::is_empty)
    }

    /// The least and the most spaces that pandas writes before a text in its column.
    fn leads(&self, column: &Column, row: usize) -> (usize, usize) {
        let text = &self.rows[row][column.index];
        if self.is_label(column) {
            (0, 0)
        } else if row < self.shape.headers {
            let has_numbers = self.values(column).all(|(value, _)| is_number(value) || value == "...");
            let space = usize::from(has_numbers || text == "...");
            // Where columns are left out, pandas takes the types of others for those after them. Versions differ in headers with
            // several levels.
            let is_cut = text != "..." && self.rows[row].iter().any(|text| text == "...");
            let least = if is_cut || self.headers == Headers::Levels { 0 } else { space };
            (least, if is_cut { 1 } else { space })
        } else {
            // No space is before dates and minus signs, but before texts that look so.
            (usize::from(!text.starts_with('-') && !is_date(text)), 1)
        }
    }

    fn find_edges(&self, columns: &mut [Column], end: usize) {
        for place in 0..columns.len() {
            let seen = columns[place].texts.iter().flatten().map(|found| found.end).max().unwrap_or_default();
            let next = columns.get(place + 1).map(|next| next.starts.0);
            // No spaces are after a number.
            let is_sure = next.is_none_or(|start| start <= seen + 1)
                || self.values(&columns[place]).any(|(text, found)| found.end == seen && is_number(text));
            let column = &mut columns[place];
            column.edge = if next.is_none() { end.max(seen) } else { seen };
            column.is_edge_sure = is_sure;
        }
    }

    /// Whether headers are aligned to the left, as far as can be seen: more of them end before the edge and start where their values
    /// start than end at the edge and start later.
    fn has_left_headers(&self, columns: &[Column]) -> bool {
        let (mut left, mut right) = (0, 0);
        for column in &columns[self.shape.labels..] {
            let first = self.values(column).map(|(_, found)| found.start).min().unwrap_or_default();
            for header in column.texts.iter().take(self.shape.headers).flatten() {
                left += usize::from(header.end < column.edge && header.start <= first);
                right += usize::from(header.end == column.edge && header.start > first);
            }
        }
        match self.headers {
            Headers::Right => false,
            Headers::Left => true,
            Headers::Levels => left > right,
        }
    }

    /// Writes texts as the plain text has them, where the HTML has other spaces than plain ones in another way, or not at all.
    fn spell(&mut self, columns: &[Column]) {
        for column in columns {
            for (row, found) in column.texts.iter().enumerate() {
                let Some(found) = found else { continue };
                if let Some(exact) = &found.exact {
                    self.shown[row][column.index] = format!("{exact:?}");
                }
                if found.is_beside_unusual {
                    self.unplaced.push(column.index);
                }
            }
        }
    }

    /// Quotes the texts with spaces, where their places are certain.
    fn quote(&mut self, columns: &[Column]) {
        for (place, column) in columns.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| &columns[before]);
            let next = columns.get(place + 1);
            let is_next_wider =
                !column.is_edge_sure && next.is_some_and(|next| next.starts.1 > column.edge + 1);
            if self.is_label(column) {
                if is_next_wider {
                    self.unplaced.push(column.index);
                }
                continue;
            }
            let left = before.filter(|before| before.is_edge_sure).map(|before| before.edge + 1);
            let is_wider = before.is_some_and(|before| column.starts.1 > before.edge + 1);
            let mut is_unplaced = is_wider || is_next_wider;
            for (row, found) in column.texts.iter().enumerate() {
                let Some(Found { start, end, is_beside_unusual, .. }) = *found else { continue };
                let (least, most) = self.leads(column, row);
                let lead = if row < self.shape.headers { least } else { most };
                let fills = left.is_some_and(|left| start <= left + lead);
                if end < column.edge && fills && column.is_edge_sure && !is_wider && !is_beside_unusual {
                    let text = self.text(column, row) + &" ".repeat(column.edge - end);
                    self.shown[row][column.index] = format!("{text:?}");
                } else {
                    is_unplaced |= end < column.edge;
                }
            }
            if is_unplaced {
                self.unplaced.push(column.index);
            }
        }
    }

    /// Quotes the labels that start after others. pandas writes a space before numbers if others have a sign.
    fn quote_labels(&mut self, column: &Column) {
        let are_numbers = self.values(column).all(|(text, _)| is_number(text) || text == "...");
        for (row, found) in column.texts.iter().enumerate() {
            let Some(Found { start, .. }) = *found else { continue };
            let cell = &self.rows[row][column.index];
            let is_of_pandas = is_date(cell) || are_numbers && row >= self.shape.headers;
            if start > column.starts.0 && !is_of_pandas && self.is_in_place(row) {
                let text = " ".repeat(start - column.starts.0) + &self.text(column, row);
                self.shown[row][column.index] = format!("{text:?}");
            }
        }
    }

    /// The table with its notes, and what follows it in `text`.
    fn finish(mut self, text: &str, count: usize) -> String {
        let mut notes = String::new();
        if !self.unplaced.is_empty() {
            self.unplaced.sort_unstable();
            self.unplaced.dedup();
            let mut names: Vec<_> = self.unplaced.iter().map(|index| self.name(*index)).collect();
            // Each level of an index has the same.
            names.dedup();
            notes.push_str("\n[Texts start or end with spaces that are not shown in or beside: ");
            notes.push_str(&(listed(names.into_iter()) + "]"));
        }
        let blank = self.blank_names();
        if !blank.is_empty() {
            notes.push_str("\n[Names that are empty or only spaces, of columns counted from 0: ");
            notes.push_str(&(listed(blank.iter().map(usize::to_string)) + "]"));
        }
        let mut table: Vec<String> = self.shown.iter().map(|row| row.join("\t")).collect();
        for row in &mut table {
            row.truncate(row.trim_end_matches('\t').len());
        }
        let mut rest = text.split_inclusive('\n');
        let has_break = rest.nth(count - 1).is_some_and(|line| line.ends_with('\n'));
        let break_after = if has_break { "\n" } else { "" };
        table.join("\n") + &notes + break_after + &rest.collect::<String>()
    }

    /// What a note calls a column.
    fn name(&self, index: usize) -> String {
        let headers = self.shown.iter().take(self.shape.headers);
        let name = headers.filter_map(|row| row.get(index)).rfind(|header| !header.is_empty());
        match name {
            _ if index < self.shape.labels => "the index".to_owned(),
            Some(name) => name.clone(),
            None => format!("column {}", index - self.shape.labels),
        }
    }

    /// The columns whose header is blank, if headers have one level.
    fn blank_names(&self) -> Vec<usize> {
        let labels = self.shape.labels;
        let levels = self.rows[..self.shape.headers].iter().filter(|row| !self.names_index(row));
        match &levels.collect::<Vec<_>>()[..] {
            [names] => {
                let known = names[labels..].iter().take_while(|name| *name != "...").enumerate();
                known.filter(|(_, name)| name.is_empty()).map(|(index, _)| index).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The first of these names, and how many more there are.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let shown = names.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok() || matches!(text, "True" | "False" | "<NA>")
}

/// Whether it looks like a point or a length of time.
fn is_date(text: &str) -> bool {
    let is_year = |year: &str| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    text == "NaT" || text.contains(" days") || text.split_once('-').is_some_and(|(year, _)| is_year(year))
}

#[cfg(test)]
mod tests;
