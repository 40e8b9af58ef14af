//! Renders a table row by row.

use super::flow::Flow;

/// The most columns that a cell spans; a larger number means the whole width.
const MAX_COLUMN_SPAN: usize = 64;
/// The most rows that a cell spans.
const MAX_ROW_SPAN: usize = 4096;
/// The columns, from the left, in which cells can span rows. Such cells are row labels; without a bound, short HTML could
/// produce a very long text.
const LABEL_COLUMNS: usize = 32;

/// An open table. Rows are passed on when they end.
///
/// Cells are separated by tabs: a cell cannot contain one, so nothing needs escaping, and a tab costs a model the least.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Whether a row is open, even without cells.
    is_in_row: bool,
    /// The row up to its last cell that is not empty.
    row: String,
    /// The tabs before the next cell.
    tabs: usize,
    /// The column of the next cell.
    column: usize,
    /// The open cell.
    cell: Option<Flow>,
    /// The columns that the open cell spans.
    columns: usize,
    /// The rows that the open cell spans.
    rows: usize,
    /// For each column, the number of following rows that a cell above covers.
    covered: [usize; LABEL_COLUMNS],
}

impl Table {
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
        self.columns = columns.clamp(1, MAX_COLUMN_SPAN);
        self.rows = rows.clamp(1, MAX_ROW_SPAN);
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
        // The text of a spanning cell goes to its first position; the others are empty.
        self.covered.iter_mut().skip(self.column).take(self.columns).for_each(|left| *left = self.rows - 1);
        self.column += self.columns;
        self.tabs += self.columns;
    }

    /// Writes the open row without its trailing empty cells.
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
