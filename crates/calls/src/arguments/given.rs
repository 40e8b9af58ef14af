//! The arguments of a call as the client sent them. Some clients send strings for numbers, booleans and lists, or
//! `null` for what they leave out.

use std::time::Duration;

use place::{Error, ErrorKind, is_left_out};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::arguments::declare::{Argument, Parameter};

/// The longest wait that an agent may ask for, in seconds.
const MAX_WAIT: f64 = 24.0 * 3600.0;

/// A call's `arguments`.
#[derive(Clone)]
pub struct Given {
    tool: &'static str,
    values: Map<String, Value>,
}

impl Given {
    /// Takes the `arguments` member of a call's params. If it is missing, there are none.
    pub fn from_params(tool: &'static str, params: &RawValue) -> Result<Self, Error> {
        #[derive(serde::Deserialize)]
        struct Params {
            #[serde(default)]
            arguments: Value,
        }
        let params: Params = serde_json::from_str(params.get()).map_err(|error| {
            refused(format!("The arguments of {tool} cannot be read: {error}.")).with_source(error)
        })?;
        let values = match params.arguments {
            Value::Object(values) => values,
            Value::Null => Map::new(),
            // A client that encodes twice.
            Value::String(text) => serde_json::from_str(&text)
                .map_err(|_| refused(format!("The arguments of {tool} are not a JSON object.")))?,
            _ => return Err(refused(format!("The arguments of {tool} are not a JSON object."))),
        };
        Ok(Self { tool, values })
    }

    /// Reads the arguments that the tool declares.
    pub fn read<A: Argument>(&self) -> Result<A, Error> {
        A::read(self, "")
    }

    /// All of them, by name.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Sets an argument, for an older name of a tool.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.values.insert(name.to_owned(), value.into());
    }

    /// Takes the argument `old` for `new`. Fails if both are given and say different things.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Error> {
        if self.has(old) && self.has(new) && self.words(old) != self.words(new) {
            return Err(refused(format!(
                "{} accepts {old} as an alias of {new}, but the two values differ.",
                self.tool
            )));
        }
        if let Some(value) = self.values.remove(old)
            && !self.has(new)
        {
            self.values.insert(new.to_owned(), value);
        }
        Ok(())
    }

    pub fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// An argument in one form, to be compared.
    fn words(&self, name: &str) -> Vec<String> {
        if let Some(Value::String(text)) = self.value(name)
            && !text.trim_start().starts_with('[')
        {
            return vec![text.trim().to_owned()];
        }
        let word = |value: &Value| match (whole_number(value), value) {
            (Some(number), _) => number.to_string(),
            (None, Value::String(text)) => text.trim().to_owned(),
            (None, other) => other.to_string(),
        };
        self.list(name).iter().map(word).collect()
    }

    /// Reads the lists and objects that were sent as text, so that what a person is shown is what is used.
    pub fn unpack(&mut self, parameters: &[Parameter]) {
        for Parameter { name, kind, .. } in parameters {
            if self.given(name).is_none() {
                continue;
            }
            let value = match kind.as_deref() {
                Some("array") => Value::from(self.list(name)),
                Some("object") => match self.object(name) {
                    Ok(Some(object)) => object.into(),
                    _ => continue,
                },
                _ => continue,
            };
            self.values.insert(name.clone(), value);
        }
    }

    /// Whether the argument is given. Some clients send an empty value, or a word for it, for what they leave out.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| !is_left_out(value))
    }

    /// Whether the argument is its default, or `false`. The number 0 is an index where there is no default.
    pub fn is_neutral(&self, name: &str, default: Option<&Value>) -> bool {
        let is_same = |value: &Value, other: &Value| match (whole_number(value), whole_number(other)) {
            (None, None) => value == other,
            (one, other) => one == other,
        };
        let Some(value) = self.value(name) else { return false };
        match default {
            Some(Value::Bool(default)) => self.flag(name).ok().flatten() == Some(*default),
            Some(default) => is_same(value, default),
            None => !value.is_number() && self.flag(name).ok().flatten() == Some(false),
        }
    }

    /// The names of all that was sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Keeps the arguments that `keeps` says, which is asked with the name and whether it is given.
    pub fn retain(&mut self, keeps: impl Fn(&str, bool) -> bool) {
        self.values.retain(|name, value| keeps(name, !is_left_out(value)));
    }

    /// A text that must be given; it may be empty.
    pub fn text(&self, name: &str) -> Result<String, Error> {
        match self.value(name) {
            None => Err(self.missing(name)),
            Some(Value::String(text)) => Ok(text.clone()),
            // Some clients send cell sources as nbformat stores them: as lists of lines.
            Some(Value::Array(lines)) if lines.iter().all(Value::is_string) => {
                Ok(lines.iter().filter_map(Value::as_str).collect())
            }
            Some(other @ (Value::Number(_) | Value::Bool(_))) => Ok(other.to_string()),
            Some(other) => Err(self.invalid(name, "a string", other)),
        }
    }

    /// A name, an id or a word; `None` if it is not given.
    pub fn optional_text(&self, name: &str) -> Result<Option<String>, Error> {
        if self.has(name) { self.text(name).map(Some) } else { Ok(None) }
    }

    /// A text that may be any word, also `null`; `None` if it is not given or empty.
    pub fn free_text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(_) => Ok(Some(self.text(name)?).filter(|text| !text.is_empty())),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.given(name) else { return Ok(None) };
        whole_number(value).map(Some).ok_or_else(|| self.invalid(name, "a whole number", value))
    }

    /// A whole number that is not negative.
    pub fn count(&self, name: &str) -> Result<Option<usize>, Error> {
        let Some(number) = self.integer(name)? else { return Ok(None) };
        let count = usize::try_from(number);
        count.map(Some).map_err(|_| refused(format!("{name} must be at least 0, not {number}.")))
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::Number(number)) => Ok(Some(number.as_f64() != Some(0.0))),
            Some(Value::String(text)) => match text.trim().to_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Some(true)),
                "false" | "0" | "no" | "off" => Ok(Some(false)),
                _ => Err(self.invalid(name, "true or false", &Value::from(text.as_str()))),
            },
            Some(other) => Err(self.invalid(name, "true or false", other)),
        }
    }

    /// A number of seconds; 0 counts as not given.
    pub fn seconds(&self, name: &str) -> Result<Option<Duration>, Error> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let seconds = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            Some(seconds) => Ok(Some(seconds)
                .filter(|seconds| *seconds > 0.0)
                .map(|it| Duration::from_secs_f64(it.min(MAX_WAIT)))),
            None => Err(self.invalid(name, "a number of seconds", value)),
        }
    }

    /// One of a few words.
    pub fn choice<T: Clone>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Error> {
        let Some(word) = self.free_text(name)? else { return Ok(None) };
        let found = choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(word.trim()));
        if found.is_none() && !self.has(name) {
            return Ok(None);
        }
        found.map(|(_, value)| Some(value.clone())).ok_or_else(|| {
            let choices: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.invalid(name, &format!("one of {}", choices.join(", ")), &Value::from(word))
        })
    }

    /// A list. A single value counts as a list of one; a string may hold a list as JSON, or is split at commas.
    pub fn list(&self, name: &str) -> Vec<Value> {
        match self.given(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(values)) => values,
                Ok(object @ Value::Object(_)) => vec![object],
                _ => text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Value::from).collect(),
            },
            Some(one) => vec![one.clone()],
        }
    }

    /// An object. A string may hold it as JSON.
    pub fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, Error> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let object = match value {
            Value::Object(object) => Some(object.clone()),
            Value::String(text) => serde_json::from_str(text).ok(),
            _ => None,
        };
        object.map(Some).ok_or_else(|| self.invalid(name, "a JSON object", value))
    }

    /// A list of objects, each with arguments of its own.
    pub fn objects(&self, name: &str) -> Result<Vec<Self>, Error> {
        let object = |value| match value {
            Value::Object(values) => Ok(Self { tool: self.tool, values }),
            other => Err(self.invalid(name, "a list of objects", &other)),
        };
        self.list(name).into_iter().map(object).collect()
    }

    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The value, unless it stands for one that is left out.
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !is_left_out(value))
    }

    pub fn missing(&self, name: &str) -> Error {
        let given: Vec<&str> = self.values.keys().map(String::as_str).collect();
        let hint = if given.is_empty() {
            "No argument was given.".to_owned()
        } else {
            format!("Arguments given: {}.", given.join(", "))
        };
        Error::new(ErrorKind::InvalidArgument, format!("{} needs {name}.", self.tool), hint)
    }

    fn invalid(&self, name: &str, wanted: &str, value: &Value) -> Error {
        const MAX_SHOWN: usize = 80;
        let value = crate::replies::cell_text::shortened(&value.to_string(), MAX_SHOWN);
        refused(format!("{name} of {} must be {wanted}, not {value}.", self.tool))
    }
}

/// A refusal of a call's arguments.
pub fn refused(cause: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, cause, "Nothing was done; call again.")
}

/// A whole number, also as text or with a decimal point.
pub fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.trim().parse().ok().or_else(|| text.trim().parse().ok().and_then(whole)),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn given(values: &Value) -> Given {
        let params = json!({ "name": "t", "arguments": values }).to_string();
        Given::from_params("t", &RawValue::from_string(params).unwrap()).unwrap()
    }

    #[test]
    fn strings_stand_for_numbers_booleans_and_lists() {
        let given = given(&json!({
            "n": "3", "float": 4.0, "flag": "False", "list": "[1, 2]", "commas": "a, b", "one": 7, "lines": ["a\n", "b"],
            "seconds": "1.5", "none": null, "empty": "",
        }));
        assert_eq!(given.integer("n").unwrap(), Some(3));
        assert_eq!(given.integer("float").unwrap(), Some(4));
        assert_eq!(given.flag("flag").unwrap(), Some(false));
        assert_eq!(given.list("list"), [json!(1), json!(2)]);
        assert_eq!(given.list("commas"), [json!("a"), json!("b")]);
        assert_eq!(given.list("one"), [json!(7)]);
        assert_eq!(given.text("lines").unwrap(), "a\nb");
        assert_eq!(given.seconds("seconds").unwrap(), Some(Duration::from_millis(1500)));
        assert!(!given.has("none"));
        assert_eq!(given.integer("empty").unwrap(), None);
        assert_eq!(given.optional_text("empty").unwrap(), None);
    }

    #[test]
    fn two_names_for_one_argument_must_agree() {
        for (values, is_accepted) in [
            (json!({ "old": 1, "new": [1] }), true),
            (json!({ "old": "[1]", "new": [1.0] }), true),
            (json!({ "old": 1, "new": null }), true),
            (json!({ "old": [1], "new": [2] }), false),
            (json!({ "old": "a\nb", "new": "a\nc" }), false),
        ] {
            let mut given = given(&values);
            assert_eq!(given.rename("old", "new").is_ok(), is_accepted, "{values}");
        }
    }

    #[test]
    fn lists_and_objects_are_unpacked() {
        let schema = json!({ "properties": { "a": { "type": "array" }, "o": { "type": "object" }, "s": { "type": "string" } } });
        let mut given = given(&json!({ "a": "[{\"cell_source\": \"x\"}]", "o": "{\"k\": 1}", "s": "[1]" }));
        given.unpack(&Parameter::of(&schema));
        let expected = json!({ "a": [{ "cell_source": "x" }], "o": { "k": 1 }, "s": "[1]" });
        assert_eq!(Value::from(given.values().clone()), expected);
    }

    #[test]
    fn refusals_name_the_argument() {
        let given = given(&json!({ "n": "three", "minus": -2, "flag": "perhaps", "o": {} }));
        let errors = [
            given.integer("n").unwrap_err(),
            given.count("minus").unwrap_err(),
            given.flag("flag").unwrap_err(),
            given.text("o").unwrap_err(),
            given.text("missing").unwrap_err(),
            given.seconds("minus").unwrap_err(),
        ];
        for (error, name) in errors.iter().zip(["n of", "minus", "flag", "o of", "missing", "minus"]) {
            assert!(error.cause.contains(name), "{error}");
        }
    }

    #[test]
    fn arguments_that_are_encoded_twice_are_read() {
        assert_eq!(given(&json!("{\"n\": 1}")).integer("n").unwrap(), Some(1));
        assert!(!given(&Value::Null).has("n"));
    }
}
