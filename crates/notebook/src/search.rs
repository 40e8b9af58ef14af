//! Search in sources and outputs.

use std::borrow::Cow;

use crate::cell::{Outputs, Source};
use crate::{Cell, CellId, Json, Notebook, Output};

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
    let (mut folded, mut strings) = (String::new(), String::new());
    let is_literal = is_literal(&needle);
    let mut may_be_in = |json: &Json| !is_literal || may_have(json.as_str(), &needle, &mut strings);
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
        let is_in_source = match &cell.0.source {
            Source::Read(json) => query.in_sources && may_be_in(json),
            Source::Set(_) => query.in_sources,
        };
        let is_in_outputs = match &cell.0.outputs {
            Outputs::Read(json) => query.in_outputs && may_be_in(json),
            Outputs::Set(_) => query.in_outputs,
        };
        if is_in_source {
            search_text(HitLocation::Source, &cell.source());
        }
        if is_in_outputs {
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

/// Whether JSON writes this text as it is, but for its case.
fn is_literal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'/'))
}

/// Whether the strings of some JSON may have a literal text in a line, in any case. It takes much less time than to read them. `strings` is a
/// buffer.
fn may_have(json: &str, needle: &str, strings: &mut String) -> bool {
    // Escaped characters may be any, others may become ASCII in lower case, and an error's name and text are searched as one line.
    if json.contains("\\u") || !json.is_ascii() || json.contains("\"error\"") {
        return true;
    }
    strings.clear();
    // A line may be in several parts.
    let parts = json.split('"').filter(|part| part.trim_ascii() != ",");
    parts.for_each(|part| strings.push_str(part));
    strings.make_ascii_lowercase();
    strings.contains(&needle.to_ascii_lowercase())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Each line of each text, one by one.
    fn expected(notebook: &Notebook, query: &Query) -> Vec<(usize, HitLocation, usize)> {
        let needle = if query.ignore_case { query.text.to_lowercase() } else { query.text.clone() };
        let mut found = Vec::new();
        for (index, cell) in notebook.cells().iter().enumerate() {
            let outputs = cell.outputs();
            let outputs = outputs.iter().map(|output| searchable_text(output).into_owned()).enumerate();
            let outputs = outputs.map(|(number, text)| (HitLocation::Output(number), text));
            for (location, text) in
                [(HitLocation::Source, cell.source().into_owned())].into_iter().chain(outputs)
            {
                let lines = text.lines().enumerate();
                let has = lines.filter(|(_, line)| matching_part(line, &needle, query.ignore_case).is_some());
                found.extend(has.map(|(line, _)| (index, location, line + 1)));
            }
        }
        found
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![8 => "[aAb,]{0,2}", 2 => "[ab \n:]{0,4}", 1 => "[aAb/\"\\\\{}\\[\\]Kſé\u{1b}]{0,6}"]
    }

    proptest! {
        #[test]
        fn all_is_found_that_is_there(
            source in prop::collection::vec(text(), 0..4),
            parts in prop::collection::vec(text(), 0..4),
            (name, value) in (text(), text()),
            needle in prop_oneof!["[ab]{2}", "[abAB,/\"\\\\ :k]{1,3}"],
            ignore_case in any::<bool>(),
        ) {
            let outputs = json!([
                { "output_type": "stream", "name": "stdout", "text": parts },
                { "output_type": "display_data", "data": { "text/plain": parts, "image/png": value }, "metadata": {} },
                { "output_type": "error", "ename": name, "evalue": value, "traceback": parts },
                { "output_type": "other", "text": value },
            ]);
            for outputs in [outputs.clone(), json!(outputs.as_array().unwrap()[..2])] {
                let cell = json!({
                    "cell_type": "code", "id": "a", "source": source, "metadata": {}, "execution_count": null, "outputs": outputs,
                });
                let file = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
                let notebook = Notebook::parse(file.to_string().into()).unwrap();
                let query = Query { text: needle.clone(), ignore_case, in_sources: true, in_outputs: true, limit: 99 };
                let found = search(&notebook, &query).into_iter().map(|hit| (hit.index, hit.location, hit.line));
                prop_assert_eq!(found.collect::<Vec<_>>(), expected(&notebook, &query));
            }
        }
    }
}
