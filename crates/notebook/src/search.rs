//! Search in sources and outputs.

use std::borrow::Cow;

use crate::{Cell, Notebook, Output};

/// How many characters of a line a hit shows.
const SHOWN: usize = 200;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Query {
    /// The text, within one line.
    pub text: String,
    /// Whether `A` finds `a`.
    pub ignore_case: bool,
    /// Whether to look into sources.
    pub in_sources: bool,
    /// Whether to look into outputs.
    pub in_outputs: bool,
    /// How many hits at most.
    pub limit: usize,
}

/// A line that holds what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The cell's place.
    pub index: usize,
    /// The cell's id.
    pub id: String,
    /// The number in `In[n]`.
    pub execution_count: Option<u64>,
    pub location: HitLocation,
    /// The line's number, counted from 1.
    pub line: usize,
    /// The line, or what of it surrounds the hit.
    pub text: String,
}

/// A part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitLocation {
    /// The source.
    Source,
    /// The output of that index.
    Output(usize),
}

/// The lines with `query.text`, in order; none for an empty text.
pub fn search(notebook: &Notebook, query: &Query) -> Vec<Hit> {
    let needle = if query.ignore_case { query.text.to_lowercase() } else { query.text.clone() };
    let mut hits = Vec::new();
    if needle.is_empty() {
        return hits;
    }
    for (index, cell) in notebook.cells().iter().enumerate() {
        let mut look = |place, text: &str| {
            let lines = text.lines().enumerate();
            let found =
                lines.filter_map(|(number, line)| Some((number, shown(line, &needle, query.ignore_case)?)));
            let left = query.limit.saturating_sub(hits.len());
            hits.extend(found.take(left).map(|(number, text)| hit(index, cell, place, number + 1, text)));
        };
        if query.in_sources {
            look(HitLocation::Source, &cell.source());
        }
        if query.in_outputs {
            for (number, output) in cell.outputs().iter().enumerate() {
                look(HitLocation::Output(number), &readable(output));
            }
        }
        if hits.len() >= query.limit {
            break;
        }
    }
    hits
}

fn hit(index: usize, cell: &Cell, location: HitLocation, line: usize, text: String) -> Hit {
    Hit { index, id: cell.id().to_owned(), execution_count: cell.execution_count(), location, line, text }
}

/// The part of a line around the first find in it.
fn shown(line: &str, needle: &str, ignore_case: bool) -> Option<String> {
    let folded = if ignore_case { Cow::Owned(line.to_lowercase()) } else { Cow::Borrowed(line) };
    let at = folded.find(needle)?;
    if line.chars().count() <= SHOWN {
        return Some(line.to_owned());
    }
    // Lower case may be longer or shorter, but has nearly as many characters.
    let before = folded[..at].chars().count().saturating_sub(SHOWN / 4);
    Some(line.chars().skip(before).take(SHOWN).collect())
}

/// What a person reads of an output: its text, without images and markup if there is plain text.
fn readable(output: &Output) -> Cow<'_, str> {
    match output {
        Output::Stream { text, .. } => text.as_str(),
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            let mut types = ["text/plain", "text/markdown", "text/latex", "text/html"].into_iter();
            types.find_map(|mime| bundle.text(mime)).unwrap_or_default().into()
        }
        Output::Error { name, value, traceback } => {
            let text = format!("{}\n{name}: {value}", traceback.join("\n"));
            without_colours(&text).into()
        }
        Output::Other(json) => json.as_str().into(),
    }
}

/// Drops the escape sequences (`ESC [ … letter`) that colour tracebacks.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end =
            part.find(|character: char| ('@'..='~').contains(&character)).map_or(part.len(), |at| at + 1);
        clean.push_str(&part[end..]);
    }
    clean
}
