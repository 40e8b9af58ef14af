//! The headings of a notebook.

use crate::{CellId, CellType, Notebook};

/// A heading in a Markdown cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub cell_index: usize,
    pub cell_id: CellId,
    /// 1 to 6.
    pub level: usize,
    /// With its Markdown.
    pub title: String,
}

/// The headings written with `#`, in order. Lines in fenced code are not headings.
pub fn outline(notebook: &Notebook) -> Vec<Heading> {
    let mut headings = Vec::new();
    for (cell_index, cell) in
        notebook.cells().iter().enumerate().filter(|(_, cell)| *cell.cell_type() == CellType::Markdown)
    {
        let mut fence = None;
        for line in cell.source().lines() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let line = &line[indent.min(3)..];
            if let Some(open) = fence {
                fence = fence.filter(|_| !closes(line, open));
                continue;
            }
            fence = fence_of(line);
            if let Some((level, title)) = heading(line) {
                headings.push(Heading { cell_index, cell_id: cell.id().clone(), level, title });
            }
        }
    }
    headings
}

/// The character and the length of the code fence that opens in this line.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let character = line.chars().next().filter(|character| matches!(character, '`' | '~'))?;
    let length = line.chars().take_while(|other| *other == character).count();
    let is_inline = character == '`' && line[length..].contains('`');
    (length >= 3 && !is_inline).then_some((character, length))
}

fn closes(line: &str, (character, length): (char, usize)) -> bool {
    let line = line.trim_end();
    line.len() >= length && line.chars().all(|other| other == character)
}

fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim();
    let closed = title.trim_end_matches('#');
    let title = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim_end() } else { title };
    Some((level, title.to_owned()))
}
