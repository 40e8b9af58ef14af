//! Compares HTML and SVG: what is seen, the attributes, and what scripts hold.
//!
//! Like `render`, it reads token by token; the same parts in the same order are the same tree.

use notebook::markup::{self, Part as Read, Tag};

use super::findings::Findings;
use super::ids::Ids;
use super::rerun::Rerun;
use super::{picture, raw, texts};

/// How deep documents within attributes are compared as documents.
const MAX_DEPTH: usize = 4;
const DOCUMENT: &str = "data:text/html";

/// A part of markup, in the order in which it is written.
#[derive(Debug, PartialEq)]
enum Part {
    Start {
        name: String,
        attributes: Vec<(String, String)>,
    },
    /// What is seen, with one space for several.
    Text {
        within: String,
        text: String,
    },
    /// The content of a script or a style.
    Raw {
        within: String,
        text: String,
    },
}

pub(crate) fn compare(before: &str, after: &str, rerun: &Rerun, findings: &mut Findings) {
    compare_within(before, after, rerun, 0, findings);
}

fn compare_within(before: &str, after: &str, rerun: &Rerun, depth: usize, findings: &mut Findings) {
    if before == after {
        return;
    }
    let (one, other) = (parts(before), parts(after));
    let mut ids = Ids::of(ids(&one), ids(&other), rerun);
    for pair in one.iter().zip(&other) {
        match pair {
            (Part::Start { name, attributes }, Part::Start { name: other, attributes: others })
                if name == other && attributes.iter().map(|it| &it.0).eq(others.iter().map(|it| &it.0)) =>
            {
                for ((key, value), (_, other)) in attributes.iter().zip(others) {
                    let place = format!("<{name} {key}>");
                    attribute(&place, value, other, &mut ids, depth, findings);
                }
            }
            (Part::Text { within, text }, Part::Text { within: other, text: changed }) if within == other => {
                if !texts::are_same(text, changed, rerun) {
                    findings.change(&format!("<{within}>"), text, changed);
                }
            }
            (Part::Raw { within, text }, Part::Raw { within: other, text: changed }) if within == other => {
                raw::compare(&format!("<{within}>"), text, changed, &mut ids, findings);
            }
            (part, changed) => return findings.change("", &shown(part), &shown(changed)),
        }
    }
    let common = one.len().min(other.len());
    one[common..].iter().for_each(|part| findings.difference(format!("-{}", shown(part))));
    other[common..].iter().for_each(|part| findings.difference(format!("+{}", shown(part))));
}

fn attribute(
    place: &str,
    before: &str,
    after: &str,
    ids: &mut Ids<'_>,
    depth: usize,
    findings: &mut Findings,
) {
    // A mere number is no id of the other parts, and nobody sees it.
    let is_number = |id: &str| id.chars().all(|c| c.is_ascii_digit());
    if before == after || (place.ends_with(" id>") && is_number(before) && is_number(after)) {
        return;
    }
    if depth < MAX_DEPTH {
        if place == "<iframe srcdoc>" {
            return compare_within(before, after, ids.rerun, depth + 1, findings);
        }
        if let (Some(before), Some(after)) = (document(before), document(after)) {
            return compare_within(&before, &after, ids.rerun, depth + 1, findings);
        }
    }
    raw::compare(place, before, after, ids, findings);
}

/// The document in a `data:` URI.
fn document(uri: &str) -> Option<String> {
    let (head, content) = uri.strip_prefix(DOCUMENT)?.split_once(',')?;
    let bytes = head.ends_with(";base64").then(|| picture::decode_base64(content))??;
    String::from_utf8(bytes).ok()
}

fn ids(parts: &[Part]) -> Vec<String> {
    let mut ids = Vec::new();
    for part in parts {
        match part {
            Part::Start { attributes, .. } => {
                let named = attributes.iter().filter(|(name, _)| name == "id" || name == "data-root-id");
                ids.extend(named.map(|(_, id)| id.clone()));
            }
            Part::Raw { text, .. } => ids.extend(Ids::in_script(text)),
            Part::Text { .. } => {}
        }
    }
    ids
}

fn shown(part: &Part) -> String {
    match part {
        Part::Start { name, attributes } => {
            let attributes = attributes.iter().map(|(name, value)| format!(" {name}=\"{value}\""));
            format!("<{name}{}>", attributes.collect::<String>())
        }
        Part::Text { within, text } | Part::Raw { within, text } => format!("<{within}> {}", text.trim()),
    }
}

/// Comments, white space between elements, and what SVG says about itself are left out.
fn parts(markup: &str) -> Vec<Part> {
    let mut reader =
        Reader { parts: Vec::new(), within: Vec::new(), text: String::new(), is_metadata: false };
    markup::read(markup, |part| {
        match part {
            Read::Tag(tag) if tag.is_start => {
                reader.start(&tag);
                return markup::raw_text(&tag.name).filter(|_| !tag.is_self_closing);
            }
            Read::Tag(tag) => reader.end(&tag.name),
            Read::Text(text) => reader.text.push_str(&text),
            Read::Comment(_) => {}
        }
        None
    });
    reader.end_text();
    reader.parts
}

struct Reader {
    parts: Vec<Part>,
    /// The open elements.
    within: Vec<String>,
    text: String,
    is_metadata: bool,
}

impl Reader {
    fn start(&mut self, tag: &Tag) {
        self.end_text();
        if self.is_metadata {
            return;
        }
        self.parts.push(Part::Start { name: tag.name.clone(), attributes: tag.attributes().collect() });
        self.is_metadata = tag.name == "metadata" && !tag.is_self_closing;
        if !tag.is_self_closing {
            self.within.push(tag.name.clone());
        }
    }

    fn end(&mut self, name: &str) {
        self.end_text();
        if name == "metadata" {
            self.is_metadata = false;
        }
        if let Some(at) = self.within.iter().rposition(|open| open == name) {
            self.within.truncate(at);
        }
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.is_metadata || text.trim().is_empty() {
            return;
        }
        let within = self.within.last().cloned().unwrap_or_default();
        self.parts.push(if matches!(&*within, "script" | "style") {
            Part::Raw { within, text }
        } else if self.within.iter().any(|open| open == "pre") {
            Part::Text { within, text }
        } else {
            Part::Text { within, text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
        });
    }
}
