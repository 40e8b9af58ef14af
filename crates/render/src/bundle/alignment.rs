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
//! its column wider, and the column does not say for which of its texts. Such columns are named in a note.
//! Where all names of columns begin with spaces, pandas leaves out as many as they share, and nothing shows them.

use crate::html::Shape;

/// Larger tables are left as they are, in bytes.
const MAX_SIZE: usize = 200_000;
/// The most columns that a note names.
const MAX_NAMED: usize = 5;

/// Where a text stands in a line, in characters.
type Span = (usize, usize);

/// Something else stands where a cell was looked for.
struct NotThere;

/// A column of a block of lines.
#[derive(Default)]
struct Column {
    /// The column of the table.
    index: usize,
    /// The places of its texts, by row.
    spans: Vec<Option<Span>>,
    /// Where it starts at the latest, if its texts have as few spaces of pandas before them as possible, and as many.
    starts: (usize, usize),
    /// Where it ends, and whether that is certain.
    edge: usize,
    is_edge_sure: bool,
}

/// The table `text`, with tabs between its cells, with those quoted of which `plain` proves the spaces, and with notes about spaces of
/// which the place is not certain.
pub(super) fn with_spaces(text: &str, plain: &str, shape: Shape, has_right_headers: bool) -> Option<String> {
    if text.len() > MAX_SIZE || plain.len() > MAX_SIZE {
        return None;
    }
    let lines: Vec<Vec<char>> = plain.lines().map(|line| line.chars().collect()).collect();
    let mut blocks: Vec<&[Vec<char>]> = lines.split(Vec::is_empty).filter(|block| block.len() > 1).collect();
    let count = blocks.first()?.len();
    blocks.retain(|block| block.len() == count);
    let mut table = Table::new(text.lines().take(count), shape);
    if table.rows.len() < count || count <= shape.headers || shape.labels == 0 {
        return None;
    }
    let mut first = shape.labels;
    for (at, block) in blocks.iter().enumerate() {
        // Columns that do not fit into a line follow in a further block, and a backslash says so.
        let margin = if blocks.len() == 1 { 0 } else { 2 + usize::from(at + 1 < blocks.len()) };
        let columns = table.columns(block, first, margin)?;
        if has_right_headers || !table.has_left_headers(&columns) {
            table.quote(&columns);
        }
        first += columns.len() - shape.labels;
    }
    (first == table.width).then(|| table.finish(text, count))
}

struct Table {
    rows: Vec<Vec<String>>,
    width: usize,
    shape: Shape,
    /// The columns in which spaces have no certain place.
    unplaced: Vec<usize>,
}

impl Table {
    fn new<'a>(lines: impl Iterator<Item = &'a str>, shape: Shape) -> Self {
        let mut rows: Vec<Vec<String>> =
            lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        // Empty cells at the end of a row are not written.
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        for row in &mut rows {
            row.resize(width, String::new());
        }
        Self { rows, width, shape, unplaced: Vec::new() }
    }

    /// The labels of rows and the columns from `first` on that stand in this block of lines, of which the last ends `margin` before the
    /// end of the lines; `None` if the lines are not those of the rows, or were not padded as pandas does.
    fn columns(&self, block: &[Vec<char>], first: usize, margin: usize) -> Option<Vec<Column>> {
        let length = block.first()?.len();
        if block.iter().any(|line| line.len() != length) {
            return None;
        }
        let mut columns: Vec<Column> = Vec::new();
        let mut last = self.width;
        for (row, line) in self.rows.iter().zip(block) {
            let is_first = last == self.width && columns.is_empty();
            let mut at = 0;
            for (place, index) in (0..self.shape.labels).chain(first..self.width).enumerate() {
                let is_over = || line.iter().skip(at).all(|character| matches!(character, ' ' | '\\'));
                if is_first && margin > 0 && index >= first && is_over() {
                    last = index;
                }
                if index >= last {
                    break;
                }
                if is_first {
                    columns.push(Column { index, ..Column::default() });
                }
                columns[place].spans.push(find(line, row.get(index)?, &mut at).ok()?);
            }
        }
        for column in &mut columns {
            column.starts = self.starts(column);
        }
        self.find_edges(&mut columns, length.checked_sub(margin)?);
        (columns.len() > self.shape.labels).then_some(columns)
    }

    fn is_label(&self, column: &Column) -> bool {
        column.index < self.shape.labels
    }

    /// The texts of a column below its headers, with their places.
    fn values<'a>(&'a self, column: &'a Column) -> impl Iterator<Item = (&'a str, Span)> {
        let rows = self.rows.iter().zip(&column.spans).skip(self.shape.headers);
        rows.filter_map(|(row, span)| Some((&*row[column.index], (*span)?)))
    }

    fn starts(&self, column: &Column) -> (usize, usize) {
        let starts = column.spans.iter().enumerate().filter_map(|(row, span)| {
            let (start, _) = (*span)?;
            let (least, most) = self.leads(column, row);
            Some((start.saturating_sub(least), start.saturating_sub(most)))
        });
        starts.fold((usize::MAX, usize::MAX), |all, one| (all.0.min(one.0), all.1.min(one.1)))
    }

    /// The least and the most spaces that pandas writes before a text in its column.
    fn leads(&self, column: &Column, row: usize) -> (usize, usize) {
        let text = &self.rows[row][column.index];
        if self.is_label(column) {
            (0, 0)
        } else if row < self.shape.headers {
            let has_numbers = self.values(column).all(|(value, _)| is_number(value) || value == "...");
            let space = usize::from(has_numbers || text == "...");
            (space, space)
        } else {
            // No space is before dates and minus signs, but before texts that look so.
            (usize::from(!text.starts_with('-') && !is_date(text)), 1)
        }
    }

    fn find_edges(&self, columns: &mut [Column], end: usize) {
        for place in 0..columns.len() {
            let seen = columns[place].spans.iter().flatten().map(|(_, end)| *end).max().unwrap_or_default();
            let next = columns.get(place + 1).map(|next| next.starts.0);
            // No spaces are after a number.
            let is_sure = next.is_none_or(|start| start <= seen + 1)
                || self.values(&columns[place]).any(|(text, (_, end))| end == seen && is_number(text));
            let column = &mut columns[place];
            column.edge = if next.is_none() { end.max(seen) } else { seen };
            column.is_edge_sure = is_sure;
        }
    }

    /// Whether headers are aligned to the left: most start where their values start, and end at different distances before the edge.
    fn has_left_headers(&self, columns: &[Column]) -> bool {
        let columns = &columns[self.shape.labels..];
        let distance = |column: &Column| {
            let (start, end) = (*column.spans.first()?)?;
            let first = self.values(column).map(|(_, (start, _))| start).min()?;
            (start <= first).then(|| column.edge - end).filter(|distance| *distance > 0)
        };
        let distances: Vec<usize> = columns.iter().filter_map(distance).collect();
        distances.len() * 2 > columns.len() && distances.iter().any(|distance| *distance > 1)
    }

    /// Quotes the texts after which there are spaces, where nothing can be before them.
    fn quote(&mut self, columns: &[Column]) {
        for (place, column) in columns.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| &columns[before]);
            let next = columns.get(place + 1);
            let is_next_wider =
                !column.is_edge_sure && next.is_some_and(|next| next.starts.1 > column.edge + 1);
            if self.is_label(column) {
                let is_shifted =
                    |(text, (start, _)): (&str, Span)| start > column.starts.0 && !is_number(text);
                if is_next_wider || self.values(column).any(is_shifted) {
                    self.unplaced.push(column.index);
                }
                continue;
            }
            let left = before.filter(|before| before.is_edge_sure).map(|before| before.edge + 1);
            let is_wider = before.is_some_and(|before| column.starts.1 > before.edge + 1);
            let mut is_unplaced = is_wider || is_next_wider;
            for (row, span) in column.spans.iter().enumerate() {
                let Some((start, end)) = *span else { continue };
                let fills = left.is_some_and(|left| start <= left + self.leads(column, row).1);
                if end < column.edge && fills && column.is_edge_sure && !is_wider {
                    let cell = &mut self.rows[row][column.index];
                    *cell = format!("{:?}", bare(cell) + &" ".repeat(column.edge - end));
                } else {
                    is_unplaced |= end < column.edge;
                }
            }
            if is_unplaced {
                self.unplaced.push(column.index);
            }
        }
    }

    /// The table with its notes, and what follows it in `text`.
    fn finish(mut self, text: &str, count: usize) -> String {
        let mut notes = String::new();
        if !self.unplaced.is_empty() {
            self.unplaced.dedup();
            let names = self.unplaced.iter().map(|index| self.name(*index));
            notes.push_str("\n[Texts begin or end with spaces that are not shown in or beside: ");
            notes.push_str(&(listed(names) + "]"));
        }
        let blank = self.blank_names();
        if !blank.is_empty() {
            notes.push_str("\n[Names that are empty or only spaces, of columns counted from 0: ");
            notes.push_str(&(listed(blank.iter().map(usize::to_string)) + "]"));
        }
        let mut table: Vec<String> = self.rows.iter().map(|row| row.join("\t")).collect();
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
        let headers = self.rows.iter().take(self.shape.headers);
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
        let names_index = |row: &Vec<String>| row[labels..].iter().all(String::is_empty);
        let levels = self.rows[..self.shape.headers].iter().filter(|row| !names_index(row));
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

/// Where `cell` is the next text of the line, and `None` if it is empty.
fn find(line: &[char], cell: &str, at: &mut usize) -> Result<Option<Span>, NotThere> {
    if cell.is_empty() {
        return Ok(None);
    }
    let rest = line.get(*at..).unwrap_or_default();
    let start = *at + rest.iter().position(|character| *character != ' ').ok_or(NotThere)?;
    let spelled = |text: &str| {
        let end = start + text.chars().count();
        let is_there = line.get(start..end)?.iter().copied().eq(text.chars());
        let ends = line.get(end).is_none_or(|next| *next == ' ');
        (is_there && ends).then_some(end)
    };
    // Left out rows are `...` in HTML, and as many dots as fit in plain text.
    let dots = || line[start..].iter().take_while(|character| **character == '.').count();
    if let Some(end) = spelled(cell).or_else(|| spelled(&bare(cell))) {
        *at = end;
        Ok(Some((start, end)))
    } else if cell == "..." && (1..3).contains(&dots()) {
        *at = start + dots();
        Ok(None)
    } else {
        Err(NotThere)
    }
}

/// A cell without the quotes that it has because of spaces within it.
fn bare(cell: &str) -> String {
    let inner = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    inner.unwrap_or(cell).to_owned()
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
