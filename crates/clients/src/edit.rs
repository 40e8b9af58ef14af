//! Edits of a configuration's text that change nothing but our entry.
//!
//! The documents of the parsers keep comments, order and layout; afterwards, everything but our entry must mean the same.

mod json;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::client::Format;
use crate::entry::Block;

const BOM: char = '\u{feff}';
/// The list of questions to the person in VS Code's configuration.
pub(crate) const INPUTS: &str = "inputs";

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

/// Writes the entry, or updates it: keys of its own that the person added stay.
pub(crate) fn put(text: &str, target: Target, block: &Block) -> Result<String, EditObstacle> {
    edit(text, target, |text| match target.format {
        Format::Json => json::put(text, target, block),
        Format::Toml => toml::put(text, target, block),
        Format::Yaml => yaml::put(text, target, block),
    })
}

/// Removes the entry, with the keys around it and the list of inputs if they are empty then.
pub(crate) fn remove(text: &str, target: Target, inputs: &[String]) -> Result<String, EditObstacle> {
    edit(text, target, |text| match target.format {
        Format::Json => json::remove(text, target, inputs),
        Format::Toml => toml::remove(text, target),
        Format::Yaml => yaml::remove(text, target),
    })
}

/// Changes a text, or nothing if anything but our entry were changed. Where all line ends are CRLF, it is edited without CR.
fn edit(
    text: &str,
    target: Target,
    change: impl FnOnce(&str) -> Result<String, EditObstacle>,
) -> Result<String, EditObstacle> {
    read(text, target)?;
    let (bom, body) = split_bom(text);
    let line_ends = body.matches('\n').count();
    let edited = if line_ends > 0 && body.matches("\r\n").count() == line_ends {
        change(&body.replace("\r\n", "\n"))?.replace('\n', "\r\n")
    } else {
        change(body)?
    };
    let edited = format!("{bom}{edited}");
    let others = |text: &str| {
        let whole = read_at(text, target.format, &[])?.unwrap_or_default();
        Ok::<_, EditObstacle>(without(whole, &target.path()))
    };
    let before = others(text)?;
    let is_kept = others(&edited).is_ok_and(|after| before == after);
    if is_kept { Ok(edited) } else { Err(EditObstacle::Form(target.path().join("."))) }
}

/// The entry as it is.
pub(crate) fn read(text: &str, target: Target) -> Result<Option<Value>, EditObstacle> {
    read_at(text, target.format, &target.path())
}

/// The value at a path, of whatever type.
pub(crate) fn read_at(text: &str, format: Format, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    let (_, body) = split_bom(text);
    match format {
        Format::Json => json::read(body, path),
        Format::Toml => at_path(toml::whole(body)?, path),
        Format::Yaml => at_path(yaml::whole(body)?, path),
    }
}

fn at_path(mut value: Value, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    for (depth, key) in path.iter().enumerate() {
        let inner = match &mut value {
            Value::Object(fields) => fields.remove(*key),
            Value::Null => None,
            _ => return Err(EditObstacle::OtherType(path[..depth].join("."))),
        };
        let Some(inner) = inner else { return Ok(None) };
        value = inner;
    }
    Ok(Some(value))
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
    put("", target, block).unwrap_or_default()
}

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

/// A document without our inputs and what is at a path, nor the objects that are empty then.
fn without(mut document: Value, path: &[&str]) -> Value {
    document.as_object_mut().map(|fields| fields.remove(INPUTS));
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
