//! Search in sources and outputs.

use std::borrow::Cow;

use crate::{CellId, Notebook, Output};

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
    let needle = folded(&query.text, query.ignore_case);
    let mut hits = Vec::new();
    for (index, cell) in notebook.cells().iter().enumerate().filter(|_| !needle.is_empty()) {
        let source = query.in_sources.then(|| (HitLocation::Source, cell.source()));
        let outputs = if query.in_outputs { cell.outputs() } else { Vec::new() };
        let outputs = outputs.iter().map(searchable_text).enumerate();
        let outputs = outputs.map(|(number, text)| (HitLocation::Output(number), text));
        for (location, text) in source.into_iter().chain(outputs) {
            // Few texts have a hit.
            if !folded(&text, query.ignore_case).contains(&*needle) {
                continue;
            }
            let lines = text.lines().zip(1..).filter_map(|(text, line)| {
                let text = matching_part(text, &needle, query.ignore_case)?;
                let (id, execution_count) = (cell.id().clone(), cell.execution_count());
                Some(Hit { index, id, execution_count, location, line, text })
            });
            hits.extend(lines.take(query.limit - hits.len()));
        }
    }
    hits
}

fn folded(text: &str, ignore_case: bool) -> Cow<'_, str> {
    if ignore_case { text.to_lowercase().into() } else { text.into() }
}

/// The part of a line around its first match.
fn matching_part(line: &str, needle: &str, ignore_case: bool) -> Option<String> {
    let folded = folded(line, ignore_case);
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
