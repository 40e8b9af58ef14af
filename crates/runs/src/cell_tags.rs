//! What the tags of a cell say about running it with others, as nbclient reads them
//! (<https://nbclient.readthedocs.io/en/latest/client.html>).

use notebook::Cell;

/// An error of the cell is expected.
pub const RAISES: &str = "raises-exception";
/// The cell is left out.
pub const SKIP: &str = "skip-execution";

/// How a cell runs as one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellTags {
    /// An error does not end the series.
    pub may_fail: bool,
    /// It does not run.
    pub is_skipped: bool,
}

/// How a run stands to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InSeries {
    /// An error does not fail it.
    pub may_fail: bool,
    /// It relies on runs before it: in another process of the kernel it does not run.
    pub is_next: bool,
}

impl CellTags {
    /// What the tags of this cell say.
    pub fn of(cell: &Cell) -> Self {
        let tags = cell.tags();
        let has = |wanted: &str| tags.iter().any(|tag| tag == wanted);
        Self { may_fail: has(RAISES), is_skipped: has(SKIP) }
    }
}
