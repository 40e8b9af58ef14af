//! Search in sources and outputs.

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::cell::Outputs;
use crate::json::items;
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
    let finder = Finder::new(&needle);
    let mut text = String::new();
    for (index, cell) in notebook.cells().iter().enumerate() {
        let mut add = |location, text: &str| {
            let lines = text.lines().enumerate();
            let found = lines.filter_map(|(number, line)| {
                Some((number, matching_part(line, &needle, query.ignore_case)?))
            });
            let left = query.limit.saturating_sub(hits.len());
            hits.extend(found.take(left).map(|(number, text)| hit(index, cell, location, number + 1, text)));
        };
        // Few texts have a hit, so each is decoded into the same buffer, and once more if it has one.
        if query.in_sources {
            text.clear();
            cell.0.source_into(&mut text);
            if has(&mut text, &finder, query.ignore_case) {
                add(HitLocation::Source, &cell.source());
            }
        }
        if query.in_outputs {
            for_each_output(cell, &mut text, |number, text| {
                if has(text, &finder, query.ignore_case) {
                    let output = cell.outputs().swap_remove(number);
                    add(HitLocation::Output(number), &searchable_text(&output));
                }
            });
        }
        if hits.len() >= query.limit {
            break;
        }
    }
    hits
}

/// Calls `each` with the searchable text of each output, which it may change: it is in the buffer `text`.
fn for_each_output(cell: &Cell, text: &mut String, mut each: impl FnMut(usize, &mut String)) {
    match &cell.0.outputs {
        Outputs::Set(outputs) => {
            for (number, output) in outputs.iter().enumerate() {
                text.clear();
                text.push_str(&searchable_text(output));
                each(number, text);
            }
        }
        Outputs::Read(list) => {
            let raw = if list.as_str().starts_with('[') { list.as_str() } else { "" };
            for (number, item) in items(raw.as_bytes(), 0).enumerate() {
                text.clear();
                if !Output::stream_into(&raw[item.value.clone()], text) {
                    text.push_str(&searchable_text(&Output::from_json(&list.slice(item.value))));
                }
                each(number, text);
            }
        }
    }
}

fn hit(index: usize, cell: &Cell, location: HitLocation, line: usize, text: String) -> Hit {
    Hit { index, id: cell.id().clone(), execution_count: cell.execution_count(), location, line, text }
}

/// Whether a text has the needle anywhere, perhaps over the end of a line. The text may be folded for that.
fn has(text: &mut String, needle: &Finder<'_>, ignore_case: bool) -> bool {
    if ignore_case && text.is_ascii() {
        text.make_ascii_lowercase();
    } else if ignore_case {
        *text = text.to_lowercase();
    }
    needle.find(text.as_bytes()).is_some()
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
