//! JSON with comments and trailing commas.

use std::ops::Range;

use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast};
use serde_json::Value;

use super::{EditObstacle, INPUTS, Target};
use crate::entry::Block;

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn put(text: &str, target: Target, block: &Block) -> Result<String, EditObstacle> {
    let path = target.path();
    let text = block
        .obsolete
        .iter()
        .try_fold(text.to_owned(), |text, key| remove_property(text, &[path.as_slice(), &[key]].concat()))?;
    let root = CstRootNode::parse(&text, &OPTIONS).map_err(|error| unparsable(&error))?;
    let mut entry = root.object_value_or_create().ok_or_else(|| other_type(&[]))?;
    for (depth, key) in path.iter().enumerate() {
        entry = entry.object_value_or_create(key).ok_or_else(|| other_type(&path[..=depth]))?;
    }
    let missing = block.defaults.iter().filter(|(key, _)| entry.get(key).is_none());
    for (key, value) in block.fields.iter().chain(missing.collect::<Vec<_>>()) {
        merge(&entry, key, value);
    }
    if let (Some(root), false) = (root.object_value(), block.inputs.is_empty()) {
        let inputs = root.array_value_or_create(INPUTS).ok_or_else(|| other_type(&[INPUTS]))?;
        let present = inputs.to_serde_value().unwrap_or_default();
        let has = |id: &Value| present.as_array().is_some_and(|all| all.iter().any(|it| it["id"] == *id));
        for input in block.inputs.iter().filter(|input| !has(&input["id"])) {
            inputs.append(input_value(input));
        }
    }
    Ok(root.to_string())
}

/// Makes a key have a value. Objects are merged, so that their other keys stay.
fn merge(object: &CstObject, key: &str, value: &Value) {
    match (object.get(key), value) {
        (None, value) => drop(object.append(key, input_value(value))),
        (Some(property), value) if property.to_serde_value().as_ref() == Some(value) => {}
        (Some(property), Value::Object(fields)) if property.object_value().is_some() => {
            let inner = property.object_value_or_set();
            fields.iter().for_each(|(key, value)| merge(&inner, key, value));
        }
        (Some(property), value) => property.set_value(input_value(value)),
    }
}

fn input_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(input_value).collect::<Vec<_>>().into(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), input_value(value))).collect::<Vec<_>>().into()
        }
    }
}

pub(super) fn remove(text: &str, target: Target, inputs: &[String]) -> Result<String, EditObstacle> {
    let path = target.path();
    let mut text = remove_property(text.to_owned(), &path)?;
    text = inputs.iter().try_fold(text, |text, id| remove_input(text, id))?;
    let list = (!inputs.is_empty()).then_some(&[INPUTS][..]);
    for path in (1..path.len()).rev().map(|end| &path[..end]).chain(list) {
        let parsed = parse(&text)?;
        let value = property(&parsed, path)?.map(|(_, it)| it.value.range());
        // One with a comment is not empty.
        if value.is_some_and(|it| matches!(&text[it.start..it.end], "{}" | "[]")) {
            text = remove_property(text, path)?;
        }
    }
    Ok(text)
}

fn remove_property(text: String, path: &[&str]) -> Result<String, EditObstacle> {
    let parsed = parse(&text)?;
    let property = property(&parsed, path)?;
    Ok(property.map(|(parent, it)| without(&text, &parsed, parent.range.start, it)).unwrap_or(text))
}

fn remove_input(text: String, id: &str) -> Result<String, EditObstacle> {
    let parsed = parse(&text)?;
    let inputs = property(&parsed, &[INPUTS])?.and_then(|(_, it)| it.value.as_array());
    let has_id = |it: &&ast::Value| {
        let id_of = it.as_object().and_then(|it| it.get_string("id"));
        id_of.is_some_and(|it| it.value == id)
    };
    let member = inputs.and_then(|it| Some((it, it.elements.iter().find(has_id)?)));
    Ok(member.map(|(inputs, it)| without(&text, &parsed, inputs.range.start, it)).unwrap_or(text))
}

/// The text without a member of the object or array that starts at `container`, and without its comma. Comments stay.
fn without(text: &str, parsed: &ParseResult, container: usize, member: &impl Ranged) -> String {
    let is_comment = |it: &&TokenAndRange| matches!(it.token, Token::CommentLine(_) | Token::CommentBlock(_));
    let tokens = || parsed.tokens.iter().flatten().filter(|it| !is_comment(it));
    let comma = |it: Option<&TokenAndRange>| it.filter(|it| it.token == Token::Comma).map(|it| it.range);
    let next = comma(tokens().find(|it| it.range.start >= member.end()));
    let comma = next.or_else(|| comma(tokens().take_while(|it| it.range.end <= member.start()).last()));
    let mut ranges: Vec<Range<usize>> = comma.into_iter().map(|it| it.start..it.end).collect();
    ranges.push(member.start()..member.end());
    ranges.sort_by_key(|range| range.start);
    let at =
        member.start() - ranges.iter().filter(|it| it.end <= member.start()).map(Range::len).sum::<usize>();
    let mut text = text.to_owned();
    ranges.iter().rev().for_each(|range| text.replace_range(range.clone(), ""));
    let spaces = |it: char| it == ' ' || it == '\t';
    let (before, after) = (text[..at].trim_end_matches(spaces), text[at..].trim_start_matches(spaces));
    // Of a line of its own, the line end goes too; before other members, the indentation stays.
    let start = match before.strip_suffix('\n') {
        Some(line) if after.starts_with('\n') => line.len(),
        _ if after.starts_with(['}', ']', '\n']) => before.len(),
        _ => at,
    };
    text.replace_range(start..text.len() - after.len(), "");
    let inside = text[container + 1..].trim_start();
    if inside.starts_with(['}', ']']) {
        text.replace_range(container + 1..text.len() - inside.len(), "");
    }
    text
}

/// The value at a path, of whatever type.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    let parsed = parse(text)?;
    match (path, &parsed.value) {
        ([], value) => Ok(value.clone().map(Value::from)),
        (path, _) => Ok(property(&parsed, path)?.map(|(_, it)| it.value.clone().into())),
    }
}

fn parse(text: &str) -> Result<ParseResult<'_>, EditObstacle> {
    let collected = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    parse_to_ast(text, &collected, &OPTIONS).map_err(|error| unparsable(&error))
}

/// A property, with the object that has it.
fn property<'a, 'b>(
    parsed: &'b ParseResult<'a>,
    path: &[&str],
) -> Result<Option<(&'b Object<'a>, &'b ast::ObjectProp<'a>)>, EditObstacle> {
    let (mut value, mut found) = (parsed.value.as_ref(), None);
    for (depth, key) in path.iter().enumerate() {
        let Some(inner) = value else { return Ok(None) };
        let object = inner.as_object().ok_or_else(|| other_type(&path[..depth]))?;
        let mut properties = object.properties.iter().filter(|it| it.name.as_str() == *key);
        found = properties.next().map(|property| (object, property));
        if properties.next().is_some() {
            return Err(EditObstacle::Duplicate(shown(&path[..=depth])));
        }
        value = found.map(|(_, property)| &property.value);
    }
    Ok(found)
}

fn unparsable(error: &ParseError) -> EditObstacle {
    EditObstacle::Unparsable(error.to_string())
}

fn other_type(path: &[&str]) -> EditObstacle {
    EditObstacle::OtherType(if path.is_empty() { "the whole file".to_owned() } else { shown(path) })
}

fn shown(path: &[&str]) -> String {
    path.join(" → ")
}
