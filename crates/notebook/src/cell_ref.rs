//! References to cells, as people and models write them.

use std::fmt;

use crate::{Cell, CellId, Notebook, truncate};

/// The most cells that an error names.
const MAX_NAMED: usize = 3;
/// The longest part of a reference that is compared with ids, in characters.
const MAX_COMPARED: usize = 64;
/// The longest first line in a label, in characters.
const MAX_FIRST_LINE: usize = 61;

/// A reference to one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellRef {
    /// Counted from 0.
    Index(usize),
    /// An id, or a prefix that no other id has.
    Id(String),
    /// The number in `In[n]`.
    Execution(u64),
}

impl CellRef {
    /// `In[12]` and `[12]` are execution counts, `#3` is an index, and anything else is an id or a prefix of one.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let bracketed = text.strip_suffix(']').and_then(|text| text.split_once('['));
        if let Some((before, count)) = bracketed {
            let before = before.trim();
            if let (true, Ok(count)) =
                (before.is_empty() || before.eq_ignore_ascii_case("in"), count.trim().parse())
            {
                return Self::Execution(count);
            }
        }
        match text.strip_prefix('#').map(str::parse) {
            Some(Ok(index)) => Self::Index(index),
            _ => Self::Id(text.to_owned()),
        }
    }
}

impl fmt::Display for CellRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "#{index}"),
            Self::Id(id) => f.write_str(id),
            Self::Execution(count) => write!(f, "In[{count}]"),
        }
    }
}

/// A cell as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLabel {
    /// Counted from 0.
    pub index: usize,
    pub id: CellId,
    pub execution_count: Option<u64>,
    /// Truncated.
    pub first_line: String,
}

impl CellLabel {
    pub fn new(index: usize, cell: &Cell) -> Self {
        let first_line = truncate(&cell.first_line(), MAX_FIRST_LINE).into_owned();
        Self { index, id: cell.id().clone(), execution_count: cell.execution_count(), first_line }
    }
}

impl fmt::Display for CellLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} · {}", self.index, self.id)?;
        if let Some(count) = self.execution_count {
            write!(f, " · In[{count}]")?;
        }
        if self.first_line.is_empty() { Ok(()) } else { write!(f, " ({})", self.first_line) }
    }
}

/// Why a reference does not name exactly one cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellRefError {
    #[error("There is no cell #{index}: {range}", range = range(*.len))]
    OutOfRange { index: usize, len: usize },
    /// No cell has this id or execution count.
    #[error("No cell is called {reference}{}", list("; the nearest are ", .nearest))]
    Unknown { reference: String, nearest: Vec<CellLabel> },
    /// More than one cell has an id with this prefix, or this execution count.
    #[error("{reference} matches more than one cell{}", list(": ", .candidates))]
    Ambiguous { reference: String, candidates: Vec<CellLabel> },
}

fn range(len: usize) -> String {
    match len.checked_sub(1) {
        None => "the notebook has no cells".to_owned(),
        Some(0) => "the notebook has only cell #0".to_owned(),
        Some(last) => format!("the notebook has cells #0 to #{last}"),
    }
}

fn list(introduction: &str, labels: &[CellLabel]) -> String {
    let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
    if labels.is_empty() { String::new() } else { format!("{introduction}{}", labels.join(", ")) }
}

impl Notebook {
    /// The index of the cell that `reference` names.
    pub fn resolve(&self, reference: &CellRef) -> Result<usize, CellRefError> {
        let cells = self.cells();
        match reference {
            CellRef::Index(index) if *index < cells.len() => Ok(*index),
            CellRef::Index(index) => Err(CellRefError::OutOfRange { index: *index, len: cells.len() }),
            CellRef::Id(id) => match self.cell(&CellId::from(&**id)) {
                Some((index, _)) => Ok(index),
                None if let Some(candidates) = self.index_or_prefix(id) => {
                    Err(CellRefError::Ambiguous { reference: reference.to_string(), candidates })
                }
                None => self.only(
                    reference,
                    |cell| !id.is_empty() && cell.id().starts_with(&**id),
                    |cell| strsim::levenshtein(&truncate(id, MAX_COMPARED), cell.id()),
                ),
            },
            CellRef::Execution(count) => self.only(
                reference,
                |cell| cell.execution_count() == Some(*count),
                |cell| cell.execution_count().map_or(u64::MAX, |other| other.abs_diff(*count)),
            ),
        }
    }

    /// The cells that a text of digits may mean, if that is the index of one and the start of another one's id.
    fn index_or_prefix(&self, id: &str) -> Option<Vec<CellLabel>> {
        let index = id.parse().ok().filter(|index| *index < self.cells().len())?;
        let other = self
            .cells()
            .iter()
            .enumerate()
            .position(|(at, cell)| at != index && cell.id().starts_with(id))?;
        Some([index, other].map(|index| CellLabel::new(index, &self.cells()[index])).to_vec())
    }

    fn only<D: Ord + Copy>(
        &self,
        reference: &CellRef,
        fits: impl Fn(&Cell) -> bool,
        distance: impl Fn(&Cell) -> D,
    ) -> Result<usize, CellRefError> {
        let label = |index: usize| CellLabel::new(index, &self.cells()[index]);
        let fitting: Vec<_> =
            (0..self.cells().len()).filter(|index| fits(&self.cells()[*index])).take(MAX_NAMED + 1).collect();
        match &*fitting {
            [only] => Ok(*only),
            [] => {
                let mut nearest: Vec<_> =
                    self.cells().iter().enumerate().map(|(index, cell)| (distance(cell), index)).collect();
                nearest.sort_unstable();
                let nearest = nearest.into_iter().take(MAX_NAMED).map(|(_, index)| label(index)).collect();
                Err(CellRefError::Unknown { reference: reference.to_string(), nearest })
            }
            several => {
                let candidates = several.iter().take(MAX_NAMED).map(|index| label(*index)).collect();
                Err(CellRefError::Ambiguous { reference: reference.to_string(), candidates })
            }
        }
    }
}
