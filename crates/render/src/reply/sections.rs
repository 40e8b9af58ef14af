//! The parts of a reply, and which of those about cells fit.

use super::content::{Content, More};
use crate::budget::Claim;

/// Which cells stay if there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Those at both ends stay.
    IfRoom,
    /// Cells about which an agent has to know, as those that failed.
    First,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// What belongs to no cell; it is never left out.
    Frame,
    Cell {
        index: usize,
        priority: Priority,
    },
    /// Cells about which there is only this to say.
    Quiet {
        cells: Vec<usize>,
        what: String,
    },
}

#[derive(Debug)]
pub(super) enum Entry {
    Note(String),
    Content(Content),
}

#[derive(Debug)]
pub(super) struct Section {
    pub(super) kind: Kind,
    pub(super) entries: Vec<Entry>,
}

impl Section {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, entries: Vec::new() }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.entries.push(Entry::Note(text.to_owned()));
    }

    pub(super) fn content(&mut self, content: Content) {
        self.entries.push(Entry::Content(content));
    }

    /// The characters of its notes.
    pub(super) fn notes(&self) -> usize {
        let quiet = match &self.kind {
            Kind::Quiet { cells, what } => cost(&quiet(cells, what)),
            _ => 0,
        };
        let note = |entry: &Entry| match entry {
            Entry::Note(text) => cost(text),
            Entry::Content(_) => 0,
        };
        quiet + self.entries.iter().map(note).sum::<usize>()
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = &Content> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Content(content) => Some(content),
            Entry::Note(_) => None,
        })
    }

    /// The characters that it takes as a whole.
    pub(super) fn size(&self) -> usize {
        self.notes() + self.contents().map(Content::size).sum::<usize>()
    }

    /// The fewest characters with which it is of use.
    fn least(&self) -> usize {
        self.notes() + self.least_content()
    }

    /// The same of its contents.
    pub(super) fn least_content(&self) -> usize {
        self.contents().map(Content::least).sum()
    }

    pub(super) fn mentions(&self, text: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Note(note) => note.contains(text),
            Entry::Content(content) => content.mentions(text),
        })
    }

    /// What its contents claim together.
    pub(super) fn claim(&self) -> Claim {
        let weight = match self.kind {
            Kind::Frame | Kind::Cell { priority: Priority::First, .. } => 3,
            _ => 1,
        };
        Claim { size: self.contents().map(Content::size).sum(), weight }
    }

    /// The first and the last cell that it is about.
    pub(super) fn cells(&self) -> Option<(usize, usize)> {
        match &self.kind {
            Kind::Frame => None,
            Kind::Cell { index, .. } => Some((*index, *index)),
            Kind::Quiet { cells, .. } => Some((*cells.first()?, *cells.last()?)),
        }
    }
}

/// `Cells 0–97, 99: no output`.
pub(super) fn quiet(cells: &[usize], what: &str) -> String {
    format!("Cell{} {}: {what}", if cells.len() == 1 { "" } else { "s" }, adjacent(cells))
}

fn adjacent(cells: &[usize]) -> String {
    notebook::ranges(cells, |one, next| one + 1 == *next)
}

fn range(first: usize, last: usize) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// The line in place of adjacent sections that are left out.
pub(super) fn gap(first: usize, last: usize, more: &More) -> String {
    let way = more.call(first, 0);
    let (cells, them) = if first == last { ("cell", "it") } else { ("cells", "them") };
    let way = if way.is_empty() { way } else { format!(", {way} shows {them}") };
    format!("… {cells} {} left out{way}", range(first, last))
}

/// For each section whether it is shown in `available` characters. Cells to keep come first, then those at both ends.
pub(super) fn shown(sections: &[Section], available: usize, more: &More) -> Vec<bool> {
    let least: Vec<usize> = sections.iter().map(Section::least).collect();
    if least.iter().sum::<usize>() <= available {
        return vec![true; sections.len()];
    }
    let mut shown: Vec<bool> = sections.iter().map(|section| section.cells().is_none()).collect();
    let mut used: usize = least.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(size, _)| size).sum();
    let longest = sections.iter().filter_map(Section::cells).map(|(_, last)| last).max().unwrap_or_default();
    // A range is longer than one cell.
    let gap_cost = cost(&gap(longest.saturating_sub(1), longest, more)) + 1;
    let is_kept = |section: &Section| matches!(section.kind, Kind::Cell { priority: Priority::First, .. });
    let (kept, others): (Vec<usize>, Vec<usize>) =
        (0..sections.len()).filter(|at| !shown[*at]).partition(|at| is_kept(&sections[*at]));
    for group in [kept, from_both_ends(&others)] {
        for at in group {
            shown[at] = true;
            if used + least[at] + gaps(&shown) * gap_cost > available {
                shown[at] = false;
                break;
            }
            used += least[at];
        }
    }
    shown
}

/// First, last, second, last but one, …
fn from_both_ends(indices: &[usize]) -> Vec<usize> {
    let (mut front, mut back) = (indices.iter(), indices.iter().rev());
    let pairs = std::iter::from_fn(|| Some([*front.next()?, *back.next()?]));
    pairs.flatten().take(indices.len()).collect()
}

/// The number of runs of sections that are not shown.
fn gaps(shown: &[bool]) -> usize {
    let starts = shown.windows(2).filter(|pair| pair[0] && !pair[1]).count();
    starts + usize::from(shown.first() == Some(&false))
}

/// The characters of a text on lines of its own, with the line break after it.
pub(super) fn cost(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_cells_are_ranges() {
        assert_eq!(quiet(&[3], "no output"), "Cell 3: no output");
        assert_eq!(quiet(&[0, 1, 2, 5], "no output"), "Cells 0–2, 5: no output");
    }

    #[test]
    fn both_ends_come_first() {
        assert_eq!(from_both_ends(&[1, 2, 3, 4, 5]), [1, 5, 2, 4, 3]);
        assert_eq!(from_both_ends(&[]), Vec::<usize>::new());
    }

    #[test]
    fn gaps_are_counted() {
        assert_eq!(gaps(&[false, true, false, false, true, false]), 3);
        assert_eq!(gaps(&[true]), 0);
    }
}
