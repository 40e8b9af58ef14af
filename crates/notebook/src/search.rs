//! Search in sources and outputs.

use std::borrow::Cow;

use crate::{Cell, CellId, Notebook, Output};

/// The longest text of a hit, in characters.
const MAX_LINE: usize = 200;

#[derive(Debug, Clone)]
pub struct Query {
    /// Searched for within one line.
    pub text: String,
    pub ignore_case: bool,
    pub in_sources: bool,
    pub in_outputs: bool,
    /// The most hits to return.
    pub limit: usize,
}

/// A line that contains the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The cell's index.
    pub index: usize,
    pub id: CellId,
    pub execution_count: Option<u64>,
    pub location: HitLocation,
    /// The line number, counted from 1.
    pub line: usize,
    /// The line, or its part around the match.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitLocation {
    Source,
    /// The output with this index.
    Output(usize),
}

/// The lines that contain `query.text`, in order; none for an empty text.
pub fn search(notebook: &Notebook, query: &Query) -> Vec<Hit> {
    let needle = if query.ignore_case { query.text.to_lowercase() } else { query.text.clone() };
    let mut hits = Vec::new();
    if needle.is_empty() {
        return hits;
    }
    let mut folded = String::new();
    for (index, cell) in notebook.cells().iter().enumerate() {
        let mut search_text = |location, text: &str| {
            // Few texts have a hit, and line by line takes longer.
            if !has(text, &needle, query.ignore_case, &mut folded) {
                return;
            }
            let lines = text.lines().enumerate();
            let found = lines.filter_map(|(number, line)| {
                Some((number, matching_part(line, &needle, query.ignore_case)?))
            });
            let left = query.limit.saturating_sub(hits.len());
            hits.extend(found.take(left).map(|(number, text)| hit(index, cell, location, number + 1, text)));
        };
        if query.in_sources {
            search_text(HitLocation::Source, &cell.source());
        }
        if query.in_outputs {
            for (number, output) in cell.outputs().iter().enumerate() {
                search_text(HitLocation::Output(number), &searchable_text(output));
            }
        }
        if hits.len() >= query.limit {
            break;
        }
    }
    hits
}

fn hit(index: usize, cell: &Cell, location: HitLocation, line: usize, text: String) -> Hit {
    Hit { index, id: cell.id().clone(), execution_count: cell.execution_count(), location, line, text }
}

/// Whether a text has the needle anywhere, perhaps over the end of a line. `folded` is a buffer.
fn has(text: &str, needle: &str, ignore_case: bool, folded: &mut String) -> bool {
    if !ignore_case {
        return text.contains(needle);
    }
    if !text.is_ascii() {
        return text.to_lowercase().contains(needle);
    }
    folded.clear();
    folded.push_str(text);
    folded.make_ascii_lowercase();
    folded.contains(needle)
}

/// The part of a line around its first match.
fn matching_part(line: &str, needle: &str, ignore_case: bool) -> Option<String> {
    let folded = if ignore_case { Cow::Owned(line.to_lowercase()) } else { Cow::Borrowed(line) };
    let at = folded.find(needle)?;
    if line.chars().count() <= MAX_LINE {
        return Some(line.to_owned());
    }
    // Lower case may differ in length, but has nearly as many characters.
    let before = folded[..at].chars().count().saturating_sub(MAX_LINE / 4);
    Some(line.chars().skip(before).take(MAX_LINE).collect())
}

/// The text of an output that is searched: plain text if there is any, never images.
fn searchable_text(output: &Output) -> Cow<'_, str> {
    match output {
        Output::Stream { text, .. } => text.as_str(),
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            let mut types = ["text/plain", "text/markdown", "text/latex", "text/html"].into_iter();
            types.find_map(|mime| bundle.text(mime)).unwrap_or_default().into()
        }
        Output::Error { name, value, traceback } => {
            let text = format!("{}\n{name}: {value}", traceback.join("\n"));
            without_colors(&text).into()
        }
        Output::Other(json) => json.as_str().into(),
    }
}

/// Drops the escape sequences (`ESC [ … letter`) that color tracebacks.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end =
            part.find(|character: char| ('@'..='~').contains(&character)).map_or(part.len(), |at| at + 1);
        clean.push_str(&part[end..]);
    }
    clean
}
