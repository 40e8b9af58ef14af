//! Edits of a configuration's text that change nothing but our entry.
//!
//! A parser only finds positions; an edit replaces ranges of the text. So what is not ours survives by construction:
//! comments, order, line ends, a byte order mark, and keys that nobody here knows.

mod json;
mod print;
mod splice;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::client::Format;
use crate::entry::Block;
pub(crate) use splice::{Steps, Text};

const BOM: char = '\u{feff}';

/// Why a configuration is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditObstacle {
    #[error("it cannot be parsed: {0}")]
    Unparsable(String),
    #[error("{0} has a value of another type")]
    OtherType(String),
    #[error("{0} occurs twice")]
    Duplicate(String),
    #[error("{0} has a form that cannot be edited without changing its surroundings")]
    Form(String),
}

/// Where our entry is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) format: Format,
    pub(crate) keys: &'a [&'a str],
    pub(crate) name: &'a str,
}

impl Target<'_> {
    /// The keys that lead to the entry.
    fn path(&self) -> Vec<&str> {
        self.keys.iter().copied().chain([self.name]).collect()
    }
}

/// What an edit did.
#[derive(Debug, Clone)]
pub struct Edited {
    pub text: String,
    /// The steps back.
    pub(crate) undo: Steps,
    /// Keys that did not exist before, from the outermost.
    pub(crate) created: Vec<Vec<String>>,
}

/// Writes the entry, or updates it: keys of its own that the person added stay.
pub(crate) fn put(text: &str, target: Target, block: &Block) -> Result<Edited, EditObstacle> {
    let (bom, body) = split_bom(text);
    let mut text = Text::new(body);
    let mut created = Vec::new();
    match target.format {
        Format::Json => json::put(&mut text, target, block, &mut created)?,
        Format::Toml => toml::put(&mut text, target, block, &mut created)?,
        Format::Yaml => yaml::put(&mut text, target, block, &mut created)?,
    }
    let (body, undo) = text.finish();
    Ok(Edited { text: format!("{bom}{body}"), undo, created })
}

/// Removes the entry, with those of the created keys that are empty then.
pub(crate) fn remove(
    text: &str,
    target: Target,
    inputs: &[String],
    created: &[Vec<String>],
) -> Result<String, EditObstacle> {
    let (bom, body) = split_bom(text);
    let mut text = Text::new(body);
    match target.format {
        Format::Json => json::remove(&mut text, target, inputs, created)?,
        Format::Toml => toml::remove(&mut text, target)?,
        Format::Yaml => yaml::remove(&mut text, target, created)?,
    }
    Ok(format!("{bom}{}", text.finish().0))
}

/// Takes back an edit after which nobody has changed the text.
pub(crate) fn undo(text: &str, steps: &Steps) -> String {
    let (bom, body) = split_bom(text);
    format!("{bom}{}", steps.apply(body))
}

/// The entry as it is.
pub(crate) fn read(text: &str, target: Target) -> Result<Option<Value>, EditObstacle> {
    let (_, body) = split_bom(text);
    match target.format {
        Format::Json => json::read(body, &target.path()),
        Format::Toml => toml::read(body, &target.path()),
        Format::Yaml => yaml::read(body, &target.path()),
    }
}

/// Whether the text says nothing: no comment either.
pub(crate) fn is_blank(text: &str, format: Format) -> bool {
    let (_, body) = split_bom(text);
    let body = body.trim();
    body.is_empty()
        || (format != Format::Toml && body.chars().filter(|it| !it.is_whitespace()).eq("{}".chars()))
}

/// The entry alone, as it would stand in an empty file: what a person can paste.
pub(crate) fn alone(target: Target, block: &Block) -> String {
    put("", target, block).map(|edited| edited.text).unwrap_or_default()
}

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

/// A document without what is at a path, nor the objects that are empty then.
fn without(mut document: Value, path: &[&str]) -> Value {
    for end in (1..=path.len()).rev() {
        let parent = path[..end - 1].iter().try_fold(&mut document, |value, key| value.get_mut(*key));
        let Some(Value::Object(fields)) = parent else { continue };
        let is_empty = match fields.get(path[end - 1]) {
            Some(Value::Object(inner)) => inner.is_empty(),
            other => other.is_some_and(Value::is_null),
        };
        if end == path.len() || is_empty {
            fields.remove(path[end - 1]);
        }
    }
    if document.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { document }
}
