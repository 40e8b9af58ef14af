//! A table, row by row.

use super::flow::Flow;

/// How many columns a cell can span; a page that says more means to fill its width.
const SPAN: usize = 64;
/// How many rows a cell can span.
const ROWS: usize = 4096;
/// In how many columns, from the left, cells can span rows. Those are labels of rows; with more, a short page could
/// make a very long text.
const LABELS: usize = 32;

/// A table that is open. Rows are given away when they end.
///
/// Cells are separated by tabs. HTML has none of its own in a cell, so that nothing needs to be escaped, and no
/// other separator costs a model less.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Whether a row is open; one without cells is a row, too.
    is_in_row: bool,
    /// The row up to its last cell that is not empty.
    row: String,
    /// How many tabs stand before the next cell.
    tabs: usize,
    /// The column of the next cell.
    column: usize,
    /// The cell that is open.
    cell: Option<Flow>,
    /// The columns that it takes.
    columns: usize,
    /// The rows that it takes.
    rows: usize,
    /// For each column, how many of the next rows a cell above reaches into.
    covered: [usize; LABELS],
}

impl Table {
    /// The cell that is open.
    pub(super) fn cell(&mut self) -> Option<&mut Flow> {
        self.cell.as_mut()
    }

    pub(super) fn start_row(&mut self, flow: &mut Flow) {
        self.end_row(flow);
        self.is_in_row = true;
    }

    pub(super) fn start_cell(&mut self, columns: usize, rows: usize) {
        self.end_cell();
        self.is_in_row = true;
        self.columns = columns.clamp(1, SPAN);
        self.rows = rows.clamp(1, ROWS);
        self.cell = Some(Flow::cell());
    }

    pub(super) fn end_cell(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        while let Some(left) = self.covered.get_mut(self.column).filter(|left| **left > 0) {
            *left -= 1;
            self.column += 1;
            self.tabs += 1;
        }
        let text = cell.finish();
        if !text.is_empty() {
            self.row.extend(std::iter::repeat_n('\t', std::mem::take(&mut self.tabs)));
            self.row.push_str(&text);
        }
        // A cell that spans stands in its first place; the others are empty.
        self.covered.iter_mut().skip(self.column).take(self.columns).for_each(|left| *left = self.rows - 1);
        self.column += self.columns;
        self.tabs += self.columns;
    }

    /// Writes the row, if there is one. Nothing stands for empty cells at its end.
    pub(super) fn end_row(&mut self, flow: &mut Flow) {
        self.end_cell();
        if !std::mem::take(&mut self.is_in_row) {
            return;
        }
        self.covered.iter_mut().skip(self.column).for_each(|left| *left = left.saturating_sub(1));
        (self.column, self.tabs) = (0, 0);
        if !self.row.is_empty() {
            flow.whole_line(&self.row);
            self.row.clear();
        }
    }
}
