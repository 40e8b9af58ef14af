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

/// A part of markup, in the order in which it is written, with its place: `<b>`, or `<b style>` for an attribute.
struct Part {
    kind: Kind,
    place: String,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Start,
    Attribute,
    /// What is seen, with one space for several.
    Text,
    /// The content of a script or a style.
    Raw,
}

impl Part {
    fn shown(&self) -> String {
        format!("{} {}", self.place, self.text.trim()).trim_end().to_owned()
    }
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
    for (part, other) in one.iter().zip(&other) {
        let (place, before, after) = (&*part.place, &*part.text, &*other.text);
        match part.kind {
            kind if kind != other.kind || place != other.place => {
                return findings.change("", &part.shown(), &other.shown());
            }
            Kind::Start => {}
            Kind::Attribute => attribute(place, before, after, &mut ids, depth, findings),
            Kind::Text if texts::are_same(before, after, rerun) => {}
            Kind::Text => findings.change(place, before, after),
            Kind::Raw => raw::compare(place, before, after, &mut ids, findings),
        }
    }
    let common = one.len().min(other.len());
    one[common..].iter().for_each(|part| findings.difference(format!("-{}", part.shown())));
    other[common..].iter().for_each(|part| findings.difference(format!("+{}", part.shown())));
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
        match part.kind {
            Kind::Attribute if part.place.ends_with(" id>") || part.place.ends_with(" data-root-id>") => {
                ids.push(part.text.clone());
            }
            Kind::Raw => ids.extend(Ids::in_script(&part.text)),
            Kind::Start | Kind::Attribute | Kind::Text => {}
        }
    }
    ids
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
        let name = &tag.name;
        self.parts.push(Part { kind: Kind::Start, place: format!("<{name}>"), text: String::new() });
        self.parts.extend(tag.attributes().map(|(key, text)| {
            let place = format!("<{name} {key}>");
            Part { kind: Kind::Attribute, place, text }
        }));
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
        let is_raw = matches!(&*within, "script" | "style");
        let is_kept = is_raw || self.within.iter().any(|open| open == "pre");
        let text = if is_kept { text } else { text.split_whitespace().collect::<Vec<_>>().join(" ") };
        let kind = if is_raw { Kind::Raw } else { Kind::Text };
        self.parts.push(Part { kind, place: format!("<{within}>"), text });
    }
}
