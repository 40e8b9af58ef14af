//! Writes Y values as JSON text, as Jupyter would write them into a file.

use std::collections::BTreeMap;

use notebook::Json;
use yrs::{Any, GetString, Map, Number, Out, ReadTxn};

use crate::elements::elements;

/// Values nested deeper than this are left out; serde does not read them either.
pub(crate) const MAX_DEPTH: usize = 100;

/// The largest whole number that every JSON reader represents exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Appends a value; `null` if JSON cannot represent it.
pub(crate) fn value<T: ReadTxn>(value: &Out, txn: &T, depth: usize, out: &mut Vec<u8>) {
    match value {
        Out::Any(value) => any(value, depth, out),
        Out::YText(text) => string(&text.get_string(txn), out),
        Out::YArray(array) if depth < MAX_DEPTH => {
            list(elements(array, txn), out, |element, out| self::value(&element, txn, depth + 1, out));
        }
        Out::YMap(map) if depth < MAX_DEPTH => {
            let members: BTreeMap<_, _> = map.iter(txn).filter(|(_, value)| !is_undefined(value)).collect();
            object(members, out, |_, member, out| self::value(&member, txn, depth + 1, out));
        }
        _ => out.extend_from_slice(b"null"),
    }
}

pub(crate) fn is_undefined(value: &Out) -> bool {
    matches!(value, Out::Any(Any::Undefined))
}

/// Appends a plain value.
pub(crate) fn any(value: &Any, depth: usize, out: &mut Vec<u8>) {
    match value {
        Any::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Any::Number(value) => number(*value, out),
        Any::String(text) => string(text, out),
        Any::Array(elements) if depth < MAX_DEPTH => {
            list(elements.iter(), out, |element, out| any(element, depth + 1, out));
        }
        Any::Map(members) if depth < MAX_DEPTH => {
            let members = members.iter().filter(|(_, value)| !matches!(value, Any::Undefined));
            let members: BTreeMap<_, _> = members.map(|(name, value)| (&**name, value)).collect();
            object(members, out, |_, member, out| any(member, depth + 1, out));
        }
        _ => out.extend_from_slice(b"null"),
    }
}

/// A value that is an object; an empty one for any other.
pub(crate) fn object_or_empty<T: ReadTxn>(value: Option<Out>, txn: &T) -> Json {
    let mut out = Vec::new();
    self::value(&value.unwrap_or_default(), txn, 1, &mut out);
    Json::parse(out.into()).ok().filter(Json::is_object).unwrap_or(Json::empty_object())
}

/// Appends a list, whose elements `write` appends.
pub(crate) fn list<E>(
    elements: impl IntoIterator<Item = E>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(E, &mut Vec<u8>),
) {
    out.push(b'[');
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

/// Appends an object, whose members `write` appends.
pub(crate) fn object<'n, M>(
    members: impl IntoIterator<Item = (&'n str, M)>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, M, &mut Vec<u8>),
) {
    out.push(b'{');
    for (index, (name, member)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(name, out);
        out.push(b':');
        write(name, member, out);
    }
    out.push(b'}');
}

pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    // Writing a string to a vector does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends a number. Whole numbers from JavaScript arrive as floats.
fn number(number: Number, out: &mut Vec<u8>) {
    let text = match whole(number) {
        Some(whole) => whole.to_string(),
        None => match number {
            Number::Int(number) => number.to_string(),
            Number::Float(number) => serde_json::Value::from(number).to_string(),
        },
    };
    out.extend_from_slice(text.as_bytes());
}

/// The number, if it has no fraction.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and within the range")]
pub(crate) fn whole(number: Number) -> Option<i64> {
    match number {
        Number::Int(number) => Some(number),
        Number::Float(number) if number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER => {
            Some(number as i64)
        }
        Number::Float(_) => None,
    }
}

/// The text of a shared or a plain string.
pub(crate) fn text<T: ReadTxn>(value: &Out, txn: &T) -> Option<String> {
    match value {
        Out::Any(Any::String(text)) => Some(text.to_string()),
        Out::YText(text) => Some(text.get_string(txn)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
