//! YAML: mappings in block style, of which each key with its value is on lines of its own. Only lines are inserted, replaced and removed;
//! a form for which that is not enough is refused, because the result would mean something else.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::{EditObstacle, Target, at_path};
use crate::entry::Block;

const DEFAULT_UNIT: usize = 2;

pub(super) fn put(text: &str, target: Target, block: &Block) -> Result<String, EditObstacle> {
    let (path, mut lines) = (target.path(), lines(text));
    match at_path(whole(text)?, &path)? {
        None => {
            let fields = block.fields.iter().chain(&block.defaults);
            let entry: Map<_, _> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            set(&mut lines, &path, &entry.into());
        }
        Some(Value::Object(current)) => {
            for key in block.obsolete.iter().filter(|key| current.contains_key(*key)) {
                cut(&mut lines, &[path.as_slice(), &[key]].concat())?;
            }
            let missing = block.defaults.iter().filter(|(key, _)| !current.contains_key(*key));
            let fields = block.fields.iter().chain(missing);
            for (key, value) in fields.filter(|(key, value)| current.get(*key) != Some(*value)) {
                set(&mut lines, &[path.as_slice(), &[key]].concat(), value);
            }
        }
        Some(_) => return Err(EditObstacle::OtherType(path.join("."))),
    }
    Ok(lines.concat())
}

pub(super) fn remove(text: &str, target: Target) -> Result<String, EditObstacle> {
    let (path, mut lines) = (target.path(), lines(text));
    if at_path(whole(text)?, &path)?.is_none() {
        return Ok(text.to_owned());
    }
    cut(&mut lines, &path)?;
    let parent = &path[..path.len() - 1];
    if let (Some(Value::Null), Some(place)) =
        (at_path(whole(&lines.concat())?, parent)?, find(&lines, parent))
    {
        let head = &mut lines[place.lines.start];
        match head.find(':') {
            // Without a value, the key would no longer have a mapping.
            Some(colon) if head.contains('#') || place.end > place.lines.end => {
                head.insert_str(colon + 1, " {}");
            }
            _ => drop(lines.drain(place.lines)),
        }
    }
    Ok(lines.concat())
}

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// A key with its value.
struct Place {
    lines: Range<usize>,
    /// The end with the comments behind the value that are indented as if they were in it.
    end: usize,
    column: usize,
}

/// The place of a key in a text that has it.
fn find(lines: &[String], path: &[&str]) -> Option<Place> {
    let column = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_blank = |line: &str| line.trim().is_empty();
    let is_remark = |line: &str| is_blank(line) || line.trim_start().starts_with('#');
    let (mut place, mut inside) = (None, 0..lines.len());
    for key in path {
        let of_keys = lines[inside.clone()].iter().find(|line| !is_remark(line)).map(|line| column(line))?;
        let is_key = |line: &str| {
            let name = line.split_once(':').map(|(name, _)| name.trim().trim_matches(['"', '\'']));
            column(line) == of_keys && name == Some(key)
        };
        let start = inside.clone().find(|at| is_key(&lines[*at]))?;
        let is_below = |at: &usize| column(&lines[*at]) > of_keys && !is_blank(&lines[*at]);
        let below = (start + 1..inside.end).take_while(|at| is_below(at) || is_remark(&lines[*at]));
        let end = |last: Option<usize>| last.map_or(start + 1, |last| last + 1);
        let content = below.clone().filter(|at| is_below(at) && !is_remark(&lines[*at])).last();
        let (own, whole) = (start..end(content), end(below.filter(is_below).last()));
        inside = start + 1..whole;
        place = Some(Place { lines: own, end: whole, column: of_keys });
    }
    place
}

/// Writes a value in place of the one of its key, or behind the others of its mapping.
fn set(lines: &mut Vec<String>, path: &[&str], value: &Value) {
    let Some((key, parents)) = path.split_last() else { return };
    if let Some(place) = find(lines, path) {
        lines.splice(place.lines, [print(key, value, place.column)]);
        return;
    }
    let (end, column) = match find(lines, parents) {
        _ if parents.is_empty() => (lines.len(), 0),
        None => {
            return set(lines, parents, &Value::Object(Map::from_iter([((*key).to_owned(), value.clone())])));
        }
        Some(parent) => {
            let head = &mut lines[parent.lines.start];
            // It is not empty any longer.
            *head = head.replacen(" {}", "", 1);
            let first = lines[parent.lines.start + 1..parent.end].iter();
            let mut first = first
                .map(|line| (line.trim_start(), line))
                .filter(|(text, _)| !text.is_empty() && !text.starts_with('#'));
            let column = first.next().map(|(text, line)| line.len() - text.len());
            (parent.end, column.unwrap_or(parent.column + DEFAULT_UNIT))
        }
    };
    if let Some(last) = end.checked_sub(1).map(|last| &mut lines[last]).filter(|last| !last.ends_with('\n')) {
        last.push('\n');
    }
    lines.insert(end, print(key, value, column));
}

fn cut(lines: &mut Vec<String>, path: &[&str]) -> Result<(), EditObstacle> {
    let place = find(lines, path).ok_or_else(|| EditObstacle::Form(path.join(".")))?;
    lines.drain(place.lines);
    Ok(())
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

pub(super) fn whole(text: &str) -> Result<Value, EditObstacle> {
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| EditObstacle::Unparsable(error.to_string()))?;
        events.push(event);
    }
    if events.iter().filter(|event| matches!(event, Event::DocumentStart(_))).count() > 1 {
        return Err(EditObstacle::Form("a file with several documents".to_owned()));
    }
    let is_content = |event: &Event<'_>| {
        use Event::{DocumentEnd, DocumentStart, Nothing, StreamEnd, StreamStart};
        !matches!(event, Nothing | StreamStart | StreamEnd | DocumentStart(_) | DocumentEnd)
    };
    let mut events = events.into_iter().filter(is_content);
    events.next().map_or(Ok(Value::Null), |first| value(first, &mut events))
}

/// The value that starts with an event.
fn value<'a>(event: Event<'a>, events: &mut impl Iterator<Item = Event<'a>>) -> Result<Value, EditObstacle> {
    Ok(match event {
        Event::Scalar(text, ScalarStyle::Plain, ..) => resolve(&text),
        Event::Scalar(text, ..) => text.as_ref().into(),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            while let Some(event) = events.next().filter(|event| !matches!(event, Event::SequenceEnd)) {
                items.push(value(event, events)?);
            }
            items.into()
        }
        Event::MappingStart(..) => {
            let mut fields = Map::new();
            while let Some(event) = events.next().filter(|event| !matches!(event, Event::MappingEnd)) {
                let key = value(event, events)?;
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                let Some(event) = events.next() else { break };
                if fields.insert(key.clone(), value(event, events)?).is_some() {
                    return Err(EditObstacle::Duplicate(key));
                }
            }
            fields.into()
        }
        _ => Value::Null,
    })
}

/// The meaning of a plain scalar in YAML's core schema.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        text => text.parse::<i64>().map_or_else(
            |_| match text.parse::<f64>() {
                Ok(number) if text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it)) => {
                    number.into()
                }
                _ => text.into(),
            },
            Value::from,
        ),
    }
}
