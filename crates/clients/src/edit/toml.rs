//! TOML. The entry is a table with a header of its own.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Array, Document, InlineTable, Item, Table};

use super::splice::{Splice, Text};
use super::{EditObstacle, Target};
use crate::entry::Block;

pub(super) fn put(
    text: &mut Text,
    target: Target,
    block: &Block,
    created: &mut Vec<Vec<String>>,
) -> Result<(), EditObstacle> {
    let path = target.path();
    let source = text.as_str().to_owned();
    let before = parse(&source)?;
    match find(&before, &path)? {
        None => {
            let fields = block.fields.iter().chain(&block.defaults);
            text.splice(vec![append(&source, &path, fields)]);
            created.extend(
                (1..path.len())
                    .filter(|end| matches!(find(&before, &path[..*end]), Ok(None)))
                    .map(|end| path[..end].iter().map(|key| (*key).to_owned()).collect()),
            );
        }
        Some(Item::Table(table)) if !table.is_dotted() => {
            let splices = update(&source, table, block).ok_or_else(|| EditObstacle::Form(path.join(".")))?;
            text.splice(splices);
        }
        Some(Item::Table(_) | Item::Value(toml_edit::Value::InlineTable(_))) => {
            return Err(EditObstacle::Form(path.join(".")));
        }
        Some(_) => return Err(EditObstacle::OtherType(path.join("."))),
    }
    // A header may not extend a table that is written in another form.
    let after = parse(text.as_str()).map_err(|_| EditObstacle::Form(path.join(".")))?;
    let is_kept = without(&before, &path) == without(&after, &path);
    if is_kept { Ok(()) } else { Err(EditObstacle::Form(path.join("."))) }
}

pub(super) fn remove(text: &mut Text, target: Target) -> Result<(), EditObstacle> {
    let path = target.path();
    let source = text.as_str().to_owned();
    let before = parse(&source)?;
    let Some(item) = find(&before, &path)? else { return Ok(()) };
    let refused = || EditObstacle::Form(path.join("."));
    let (parent, key) = (find(&before, &path[..path.len() - 1])?, path[path.len() - 1]);
    let mut ranges = Vec::new();
    match (parent, item) {
        (_, Item::Table(table)) => lines_of_table(&source, table, &mut ranges),
        (Some(Item::Table(parent)), item) => ranges.extend(line_of(&source, parent, key, item)),
        _ => return Err(refused()),
    }
    ranges.sort_by_key(|range| range.start);
    ranges.dedup();
    if let Some(first) = ranges.first_mut() {
        first.start = blank_line_before(&source, first.start);
    }
    text.splice(ranges.into_iter().map(Splice::delete).collect());
    let after = parse(text.as_str()).map_err(|_| refused())?;
    let is_kept = find(&after, &path)?.is_none() && without(&before, &path) == without(&after, &path);
    if is_kept { Ok(()) } else { Err(refused()) }
}

pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    Ok(find(&parse(text)?, path)?.map(json))
}

fn parse(text: &str) -> Result<Document<&str>, EditObstacle> {
    Document::parse(text).map_err(|error| EditObstacle::Unparsable(error.message().to_owned()))
}

fn find<'a>(document: &'a Document<&str>, path: &[&str]) -> Result<Option<&'a Item>, EditObstacle> {
    let mut item = document.as_item();
    for (depth, key) in path.iter().enumerate() {
        let table = item.as_table_like().ok_or_else(|| EditObstacle::OtherType(path[..depth].join(".")))?;
        match table.get(key) {
            Some(inner) => item = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(item))
}

fn append<'a>(text: &str, path: &[&str], fields: impl Iterator<Item = (&'a String, &'a Value)>) -> Splice {
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let lines: String = fields.map(|(key, value)| line(key, value)).collect();
    Splice::insert(text.len(), format!("{gap}[{}]\n{lines}", path.join(".")))
}

fn line(key: &str, value: &Value) -> String {
    format!("{key} = {}\n", toml(value))
}

/// Replaces values, adds missing ones, and removes what is obsolete. `None` if a part has another form.
fn update(text: &str, table: &Table, block: &Block) -> Option<Vec<Splice>> {
    let mut splices = Vec::new();
    let mut missing = String::new();
    for (key, value) in &block.fields {
        match table.get(key) {
            None => missing.push_str(&line(key, value)),
            Some(item) if json(item) == *value => {}
            Some(item @ Item::Value(_)) => {
                splices.push(Splice::replace(item.span()?, toml(value).to_string()));
            }
            Some(_) => return None,
        }
    }
    missing.extend(
        block
            .defaults
            .iter()
            .filter(|(key, _)| !table.contains_key(key))
            .map(|(key, value)| line(key, value)),
    );
    for key in &block.obsolete {
        match table.get(key) {
            None => {}
            Some(item @ Item::Value(_)) => splices.push(Splice::delete(line_of(text, table, key, item)?)),
            Some(_) => return None,
        }
    }
    if !missing.is_empty() {
        // Below the header: any other line may be about to be removed.
        let (_, end) = whole_lines(text, table.span()?);
        let line_end = if text[..end].ends_with('\n') { "" } else { "\n" };
        splices.push(Splice::insert(end, format!("{line_end}{missing}")));
    }
    splices.sort_by_key(Splice::range);
    Some(splices)
}

fn lines_of_table(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) {
    if let (false, false, Some(header)) = (table.is_dotted(), table.is_implicit(), table.span()) {
        let (start, end) = whole_lines(text, header);
        ranges.push(start..end);
    }
    for (key, item) in table {
        match item {
            Item::Table(inner) => lines_of_table(text, inner, ranges),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|it| lines_of_table(text, it, ranges)),
            item => ranges.extend(line_of(text, table, key, item)),
        }
    }
}

fn line_of(text: &str, table: &Table, key: &str, item: &Item) -> Option<Range<usize>> {
    let (start, end) = whole_lines(text, table.key(key)?.span()?.start..item.span()?.end);
    Some(start..end)
}

fn whole_lines(text: &str, range: Range<usize>) -> (usize, usize) {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    (start, end)
}

fn blank_line_before(text: &str, at: usize) -> usize {
    ["\r\n", "\n"].iter().find(|it| text[..at].ends_with(&format!("\n{it}"))).map_or(at, |it| at - it.len())
}

fn toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, float) => float.unwrap_or_default().into(),
        },
        Value::Array(items) => items.iter().map(toml).collect::<Array>().into(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.as_str(), toml(value))).collect::<InlineTable>().into()
        }
        Value::Null => "".into(),
    }
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_value(value),
        Item::Table(table) => {
            table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect::<Map<_, _>>().into()
        }
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|it| it.iter().map(|(key, item)| (key.to_owned(), json(item))).collect::<Map<_, _>>())
            .collect(),
    }
}

fn json_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(truth) => (*truth.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(items) => items.iter().map(json_value).collect(),
        Toml::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), json_value(value))).collect::<Map<_, _>>().into()
        }
    }
}

/// The document without what is at a path, nor the tables that are empty then.
fn without(document: &Document<&str>, path: &[&str]) -> Value {
    super::without(json(document.as_item()), path)
}
