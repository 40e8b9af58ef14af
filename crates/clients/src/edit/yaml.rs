//! YAML: mappings in block style. The entry occupies whole lines.

mod tree;

use std::ops::Range;

use serde_json::{Map, Value};

use super::{EditObstacle, Target};
use crate::entry::Block;
use tree::{Node, Tree};

const DEFAULT_UNIT: usize = 2;

pub(super) fn put(text: &str, target: Target, block: &Block) -> Result<String, EditObstacle> {
    let (path, mut text) = (target.path(), text.to_owned());
    let before = tree::parse(&text)?;
    match before.read(&path)? {
        None => {
            let fields = block.fields.iter().chain(&block.defaults);
            let entry: Map<_, _> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            text = spliced(&text, &insertion(&text, &before, &path, &entry.into())?);
        }
        Some(Value::Object(current)) => {
            for key in &block.obsolete {
                text = without_lines(text, &[path.as_slice(), &[key]].concat())?;
            }
            let missing = block.defaults.iter().filter(|(key, _)| !current.contains_key(*key));
            for (key, value) in block.fields.iter().chain(missing) {
                text = updated(text, &[path.as_slice(), &[key]].concat(), value)?;
            }
        }
        Some(_) => return Err(EditObstacle::OtherType(path.join("."))),
    }
    Ok(text)
}

pub(super) fn remove(text: &str, target: Target, created: &[Vec<String>]) -> Result<String, EditObstacle> {
    let (path, text) = (target.path(), text.to_owned());
    let before = tree::parse(&text)?;
    if before.read(&path)?.is_none() {
        return Ok(text);
    }
    let parent = &path[..path.len() - 1];
    let is_only = matches!(before.read(parent)?, Some(Value::Object(entries)) if entries.len() == 1);
    let is_created = created.iter().any(|it| it.iter().eq(parent));
    match (is_only, is_created) {
        (true, true) => without_lines(text, parent),
        (true, false) => {
            // Without a value, the key would no longer have a mapping.
            let value = before.colon(&text, parent)? + 1;
            let lines = before.lines_of(&text, &path)?;
            Ok(spliced(&text, &[(value..value, " {}".to_owned()), (lines, String::new())]))
        }
        (false, _) => without_lines(text, &path),
    }
}

pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    let tree = tree::parse(text)?;
    if path.is_empty() { Ok(Some(tree.whole())) } else { tree.read(path) }
}

/// A range with the text that takes its place.
type Splice = (Range<usize>, String);

/// The text with splices in ascending order that do not overlap.
fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut text = text.to_owned();
    splices.iter().rev().for_each(|(range, with)| text.replace_range(range.clone(), with));
    text
}

/// A new entry below the innermost mapping that exists.
fn insertion(text: &str, tree: &Tree, path: &[&str], entry: &Value) -> Result<Vec<Splice>, EditObstacle> {
    let depth =
        (0..path.len()).rev().find(|depth| matches!(tree.node(&path[..*depth]), Ok(Some(_)))).unwrap_or(0);
    let value = path[depth + 1..]
        .iter()
        .rev()
        .fold(entry.clone(), |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])));
    let printed = |column: usize| print(path[depth], &value, column);
    let after_line_end = |at: usize, text_after: String| {
        let line_end = if at == 0 || text[..at].ends_with('\n') { "" } else { "\n" };
        (at..at, format!("{line_end}{text_after}"))
    };
    Ok(match tree.node(&path[..depth])? {
        None | Some(Node::Empty { .. }) if depth == 0 => vec![after_line_end(text.len(), printed(0))],
        // A key without a value.
        Some(Node::Empty { .. }) => {
            let lines = tree.lines_of(text, &path[..depth])?;
            vec![after_line_end(lines.end, printed(tree.column(&path[..depth])? + DEFAULT_UNIT))]
        }
        Some(Node::EmptyFlow { span }) if depth > 0 => {
            let column = tree.column(&path[..depth])? + DEFAULT_UNIT;
            let start = text[..span.start].trim_end_matches(' ').len();
            let entry = after_line_end(tree::line_end(text, span.end), printed(column));
            vec![(start..span.end, String::new()), entry]
        }
        Some(Node::Mapping { entries, column, .. }) => {
            let end = entries
                .last()
                .map_or(text.len(), |(key, value)| tree::line_end(text, key.end.max(value.end())));
            vec![after_line_end(end, printed(*column))]
        }
        _ => return Err(EditObstacle::Form(path[..depth].join("."))),
    })
}

fn updated(text: String, path: &[&str], value: &Value) -> Result<String, EditObstacle> {
    let tree = tree::parse(&text)?;
    let current = tree.read(path)?;
    if current.as_ref() == Some(value) {
        return Ok(text);
    }
    let splices = if current.is_some() {
        let column = tree.column(path)?;
        let line = print(path[path.len() - 1], value, column);
        vec![(tree.lines_of(&text, path)?, line)]
    } else {
        insertion(&text, &tree, path, value)?
    };
    Ok(spliced(&text, &splices))
}

fn without_lines(text: String, path: &[&str]) -> Result<String, EditObstacle> {
    let tree = tree::parse(&text)?;
    if tree.node(path)?.is_none() {
        return Ok(text);
    }
    Ok(spliced(&text, &[(tree.lines_of(&text, path)?, String::new())]))
}

/// A key with its value, whose scalars and lists are those of JSON. The levels below are indented as this one is.
fn print(key: &str, value: &Value, column: usize) -> String {
    let unit = if column == 0 { DEFAULT_UNIT } else { column };
    print_with(key, value, column, unit)
}

fn print_with(key: &str, value: &Value, column: usize, unit: usize) -> String {
    let indent = " ".repeat(column);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields: String =
                fields.iter().map(|(key, value)| print_with(key, value, column + unit, unit)).collect();
            format!("{indent}{key}:\n{fields}")
        }
        value => format!("{indent}{key}: {value}\n"),
    }
}
