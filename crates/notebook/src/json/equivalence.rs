//! Whether two values mean the same, however they are written.

use std::borrow::Cow;

use serde_json::Value;

use super::Json;
use crate::{MimeBundle, Output};

impl Json {
    /// Whether both mean the same: whitespace, the order of members, escapes and the way a number is written (`1` and
    /// `1.0`) do not matter. Values that are nested too deep to be read are compared as text.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let (own, others) = (|| self.decode(), || other.decode());
        self == other || matches!((own(), others()), (Ok(own), Ok(other)) if is_same(&own, &other))
    }
}

impl Output {
    /// Whether both outputs mean the same; see [`Json::is_equivalent`].
    pub fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Display(own), Self::Display(other)) => own.is_equivalent(other),
            (
                Self::Result { execution_count: own_count, bundle: own },
                Self::Result { execution_count: other_count, bundle: other },
            ) => own_count == other_count && own.is_equivalent(other),
            (Self::Other(own), Self::Other(other)) => own.is_equivalent(other),
            _ => self == other,
        }
    }
}

impl MimeBundle {
    fn is_equivalent(&self, other: &Self) -> bool {
        let (own, others) = (sorted_contents(self), sorted_contents(other));
        // A file may hold text as a list of lines, and base64 with or without a line break at its end.
        let is_same_member = |((own_name, own), (name, other)): (&(_, Json), &(_, Json))| {
            own_name == name
                && match (own.multiline_text(), other.multiline_text()) {
                    (Some(own), Some(other)) => own.trim_end_matches('\n') == other.trim_end_matches('\n'),
                    _ => own.is_equivalent(other),
                }
        };
        own.len() == others.len()
            && own.iter().zip(&others).all(is_same_member)
            && self.metadata.is_equivalent(&other.metadata)
    }
}

fn sorted_contents(bundle: &MimeBundle) -> Vec<(Cow<'_, str>, Json)> {
    let mut members: Vec<_> = bundle.data.members().collect();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    members
}

fn is_same(own: &Value, other: &Value) -> bool {
    match (own, other) {
        (Value::Object(own), Value::Object(others)) => {
            let is_there =
                |(name, own): (&String, &Value)| others.get(name).is_some_and(|it| is_same(own, it));
            own.len() == others.len() && own.iter().all(is_there)
        }
        (Value::Array(own), Value::Array(others)) => {
            own.len() == others.len() && own.iter().zip(others).all(|(own, other)| is_same(own, other))
        }
        (Value::Number(own), Value::Number(other)) if own.is_f64() || other.is_f64() => {
            own.as_f64() == other.as_f64()
        }
        _ => own == other,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn formatting_does_not_matter() {
        let pairs = [
            (r#"{"a": 1, "b": [true, null]}"#, r#"{"b":[true,null],"a":1.0}"#),
            (r#""\u00e9\/""#, "\"é/\""),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 2}"#),
            ("1e2", "100"),
            ("[]", "[ ]"),
        ];
        for (a, b) in pairs {
            assert!(json(a).is_equivalent(&json(b)), "{a} {b}");
        }
    }

    #[test]
    fn text_is_equivalent_to_the_list_of_its_lines() {
        let output = |data: &str| Output::Display(MimeBundle { data: json(data), metadata: json("{}") });
        let one = output(r#"{"text/plain": "a\nb", "image/png": "aGk=\n"}"#);
        assert!(one.is_equivalent(&output(r#"{"image/png": "aGk=", "text/plain": ["a\n", "b"]}"#)));
        assert!(!one.is_equivalent(&output(r#"{"image/png": "aGk=", "text/plain": ["a\n", "c"]}"#)));
        assert!(!one.is_equivalent(&output(r#"{"text/plain": "a\nb"}"#)));
    }

    #[test]
    fn different_values_are_not_equivalent() {
        let pairs = [
            ("1", "2"),
            ("9007199254740993", "9007199254740992"),
            ("1", "\"1\""),
            ("[1]", "[1, 2]"),
            ("[1, 2]", "[1]"),
            ("[]", "{}"),
            (r#"{"a": 1}"#, r#"{"b": 1}"#),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#),
            ("null", "false"),
        ];
        for (a, b) in pairs {
            assert!(!json(a).is_equivalent(&json(b)), "{a} {b}");
        }
    }

    #[test]
    fn deep_nesting_is_compared() {
        let deep = |inner: &str| json(&format!("{}{inner}{}", "[".repeat(50_000), "]".repeat(50_000)));
        assert!(deep("1").is_equivalent(&deep("1")));
        assert!(!deep("1").is_equivalent(&deep("2")));
    }
}
