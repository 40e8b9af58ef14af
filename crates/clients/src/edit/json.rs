//! JSON with comments and trailing commas.

mod container;

use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::print::{self, Layout};
use super::splice::{Splice, Text};
use super::{EditObstacle, Target};
use crate::entry::Block;
use container::Container;

const INPUTS: &str = "inputs";

pub(super) fn put(
    text: &mut Text,
    target: Target,
    block: &Block,
    created: &mut Vec<Vec<String>>,
) -> Result<(), EditObstacle> {
    let path = target.path();
    match existing(text.as_str(), &path)? {
        None => {
            let fields = block.fields.iter().chain(&block.defaults);
            let entry: Map<_, _> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            insert(text, &path, entry.into(), created)?;
        }
        Some(entry) => {
            for key in &block.obsolete {
                remove_property(text, &[path.as_slice(), &[key]].concat())?;
            }
            let missing = block.defaults.iter().filter(|(key, _)| entry.get(key.as_str()).is_none());
            for (key, value) in block.fields.iter().chain(missing) {
                merge(text, &[path.as_slice(), &[key]].concat(), value)?;
            }
        }
    }
    block.inputs.iter().try_for_each(|input| put_input(text, input, created))
}

pub(super) fn remove(
    text: &mut Text,
    target: Target,
    inputs: &[String],
    created: &[Vec<String>],
) -> Result<(), EditObstacle> {
    remove_property(text, &target.path())?;
    inputs.iter().try_for_each(|id| remove_input(text, id))?;
    for path in created.iter().rev() {
        let path: Vec<_> = path.iter().map(String::as_str).collect();
        let is_empty = match read(text.as_str(), &path)? {
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if is_empty && !has_comment(text.as_str(), &path)? {
            remove_property(text, &path)?;
        }
    }
    Ok(())
}

/// The value at a path, of whatever type.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Value>, EditObstacle> {
    with(text, |root| {
        let Some(root) = root else { return Ok(None) };
        Ok(find(root, path)?.ok().map(|it| serde_value(&it.value)))
    })
}

#[cfg(test)]
pub(super) fn read_whole(text: &str) -> Result<Option<Value>, EditObstacle> {
    with(text, |root| Ok(root.map(|root| serde_value(&ast::Value::Object(root.clone())))))
}

fn existing(text: &str, path: &[&str]) -> Result<Option<Map<String, Value>>, EditObstacle> {
    match read(text, path)? {
        None => Ok(None),
        Some(Value::Object(entry)) => Ok(Some(entry)),
        Some(_) => Err(EditObstacle::OtherType(shown(path))),
    }
}

/// Parses a text, and hands over its object, unless there is nothing in it.
fn with<T>(
    text: &str,
    act: impl FnOnce(Option<&Object>) -> Result<T, EditObstacle>,
) -> Result<T, EditObstacle> {
    let options = ParseOptions {
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
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| EditObstacle::Unparsable(error.to_string()))?;
    match &parsed.value {
        None => act(None),
        Some(ast::Value::Object(root)) => act(Some(root)),
        Some(_) => Err(EditObstacle::OtherType("the whole file".to_owned())),
    }
}

/// A property, or the innermost object on the way to it with the number of keys that lead there.
type Found<'a, 'b> = Result<&'b ast::ObjectProp<'a>, (&'b Object<'a>, usize)>;

fn find<'a, 'b>(root: &'b Object<'a>, path: &[&str]) -> Result<Found<'a, 'b>, EditObstacle> {
    let mut object = root;
    for (depth, key) in path.iter().enumerate() {
        let mut properties = object.properties.iter().filter(|it| it.name.as_str() == *key);
        let Some(property) = properties.next() else { return Ok(Err((object, depth))) };
        if properties.next().is_some() {
            return Err(EditObstacle::Duplicate(shown(&path[..=depth])));
        }
        if depth + 1 == path.len() {
            return Ok(Ok(property));
        }
        object = property.value.as_object().ok_or_else(|| EditObstacle::OtherType(shown(&path[..=depth])))?;
    }
    Ok(Err((root, 0)))
}

/// Writes a value that does not exist, with the objects around it.
fn insert(
    text: &mut Text,
    path: &[&str],
    value: Value,
    created: &mut Vec<Vec<String>>,
) -> Result<(), EditObstacle> {
    let nested = |path: &[&str], value: Value| {
        path.iter()
            .rev()
            .fold(value, |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])))
    };
    let source = text.as_str();
    let (splices, depth) = with(source, |root| {
        let Some(root) = root else { return Ok((container::whole(source, &nested(path, value)), 0)) };
        let Err((object, depth)) = find(root, path)? else { return Ok((Vec::new(), path.len())) };
        let unit = container::unit(source, root);
        let container = Container::object(source, object);
        let value = nested(&path[depth + 1..], value);
        let splices = container.insert(unit, |layout| print::property(path[depth], &value, layout));
        Ok((splices, depth))
    })?;
    let own = |path: &[&str]| path.iter().map(|key| (*key).to_owned()).collect();
    created.extend((depth + 1..path.len()).map(|end| own(&path[..end])));
    text.splice(splices);
    Ok(())
}

/// Makes a key have a value. Objects are merged, so that their other keys stay.
fn merge(text: &mut Text, path: &[&str], value: &Value) -> Result<(), EditObstacle> {
    let current = read(text.as_str(), path)?;
    match (&current, value) {
        (None, _) => insert(text, path, value.clone(), &mut Vec::new()),
        (Some(current), value) if current == value => Ok(()),
        (Some(Value::Object(_)), Value::Object(fields)) => {
            fields.iter().try_for_each(|(key, value)| merge(text, &[path, &[key]].concat(), value))
        }
        _ => {
            let source = text.as_str();
            let splice = with(source, |root| {
                let Some(Ok(property)) = root.map(|root| find(root, path)).transpose()? else {
                    return Ok(None);
                };
                let indent = container::indentation(source, property.range().start);
                let unit = root.map_or("  ", |root| container::unit(source, root));
                let printed = print::value(value, Layout::Lines { indent, unit });
                let range = property.value.range();
                Ok(Some(Splice::replace(range.start..range.end, printed)))
            })?;
            text.splice(splice.into_iter().collect());
            Ok(())
        }
    }
}

fn remove_property(text: &mut Text, path: &[&str]) -> Result<(), EditObstacle> {
    let source = text.as_str();
    let splices = with(source, |root| {
        let Some(root) = root else { return Ok(Vec::new()) };
        let Ok(property) = find(root, path)? else { return Ok(Vec::new()) };
        let Some((_, parent)) = path.split_last() else { return Ok(Vec::new()) };
        let object = if parent.is_empty() {
            Some(root)
        } else {
            find(root, parent)?.ok().and_then(|it| it.value.as_object())
        };
        let Some(object) = object else { return Ok(Vec::new()) };
        let index = object.properties.iter().position(|it| std::ptr::eq(it, property));
        Ok(index.map(|index| Container::object(source, object).remove(index)).unwrap_or_default())
    })?;
    text.splice(splices);
    Ok(())
}

fn put_input(text: &mut Text, input: &Value, created: &mut Vec<Vec<String>>) -> Result<(), EditObstacle> {
    match read(text.as_str(), &[INPUTS])? {
        None => {
            created.push(vec![INPUTS.to_owned()]);
            return insert(text, &[INPUTS], Value::Array(vec![input.clone()]), &mut Vec::new());
        }
        Some(Value::Array(inputs)) if inputs.iter().any(|it| it["id"] == input["id"]) => return Ok(()),
        Some(Value::Array(_)) => {}
        Some(_) => return Err(EditObstacle::OtherType(INPUTS.to_owned())),
    }
    let source = text.as_str();
    let splices =
        with_inputs(source, |container, unit| container.insert(unit, |layout| print::value(input, layout)))?;
    text.splice(splices);
    Ok(())
}

fn remove_input(text: &mut Text, id: &str) -> Result<(), EditObstacle> {
    let Some(Value::Array(inputs)) = read(text.as_str(), &[INPUTS])? else { return Ok(()) };
    let Some(index) = inputs.iter().position(|it| it["id"] == id) else { return Ok(()) };
    let splices = with_inputs(text.as_str(), |container, _| container.remove(index))?;
    text.splice(splices);
    Ok(())
}

fn with_inputs(
    source: &str,
    act: impl FnOnce(&Container, &str) -> Vec<Splice>,
) -> Result<Vec<Splice>, EditObstacle> {
    with(source, |root| {
        let Some(root) = root else { return Ok(Vec::new()) };
        let Ok(property) = find(root, &[INPUTS])? else { return Ok(Vec::new()) };
        let Some(array) = property.value.as_array() else { return Ok(Vec::new()) };
        Ok(act(&Container::array(source, array), container::unit(source, root)))
    })
}

fn has_comment(source: &str, path: &[&str]) -> Result<bool, EditObstacle> {
    with(source, |root| {
        let property = root.map(|root| find(root, path)).transpose()?.and_then(Result::ok);
        Ok(property.is_some_and(|it| {
            let range = it.value.range();
            source[range.start..range.end].contains("//") || source[range.start..range.end].contains("/*")
        }))
    })
}

fn serde_value(value: &ast::Value) -> Value {
    match value {
        ast::Value::StringLit(it) => it.value.as_ref().into(),
        ast::Value::NumberLit(it) => serde_json::from_str(it.value).unwrap_or_default(),
        ast::Value::BooleanLit(it) => it.value.into(),
        ast::Value::Array(it) => it.elements.iter().map(serde_value).collect(),
        ast::Value::Object(it) => {
            it.properties.iter().map(|it| (it.name.as_str().to_owned(), serde_value(&it.value))).collect()
        }
        ast::Value::NullKeyword(_) => Value::Null,
    }
}

fn shown(path: &[&str]) -> String {
    path.join(" → ")
}
