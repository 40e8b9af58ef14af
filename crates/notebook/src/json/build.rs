//! Builds JSON text from parts, whose text stays as it is.

use std::borrow::Cow;

use super::Json;

impl Json {
    pub(crate) fn string(text: &str) -> Self {
        Self::from_value(&text.into())
    }

    pub(crate) fn list(elements: &[Self]) -> Self {
        let elements: Vec<_> = elements.iter().map(Self::as_str).collect();
        Self::from_valid(format!("[{}]", elements.join(",")))
    }

    /// An object of these members.
    pub fn object(members: &[(Cow<'_, str>, Self)]) -> Self {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| format!("{}:{}", Self::string(name).as_str(), value.as_str()))
            .collect();
        Self::from_valid(format!("{{{}}}", members.join(",")))
    }

    /// This object with one member set, which becomes the last.
    #[must_use]
    pub(crate) fn with(&self, name: &str, value: &Self) -> Self {
        let mut members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        members.push((name.into(), value.clone()));
        Self::object(&members)
    }

    /// This value after a JSON merge patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)).
    ///
    /// Example: `{"a": {"b": 1, "c": 2}, "d": 3}` after `{"a": {"b": null}, "e": 4}` is `{"a": {"c": 2}, "d": 3, "e": 4}`.
    #[must_use]
    pub fn merged(&self, patch: &Self) -> Self {
        if !patch.is_object() {
            return patch.clone();
        }
        let mut merged = if self.is_object() { self.clone() } else { Self::empty_object() };
        for (name, value) in patch.members() {
            merged = if value.is_null() {
                merged.without(&name)
            } else {
                let old = merged.member(&name).unwrap_or(Self::from_static("null"));
                merged.with(&name, &old.merged(&value))
            };
        }
        merged
    }

    /// The merge patch that makes `target` of this object. Members of `target` that are `null` cannot be set by any patch.
    #[must_use]
    pub fn patch_to(&self, target: &Self) -> Self {
        let gone = self.members().filter(|(name, _)| target.member(name).is_none());
        let mut members: Vec<_> = gone.map(|(name, _)| (name, Self::from_static("null"))).collect();
        for (name, wanted) in target.members() {
            match self.member(&name) {
                Some(now) if now.is_equivalent(&wanted) => {}
                Some(now) if now.is_object() && wanted.is_object() => {
                    members.push((name, now.patch_to(&wanted)));
                }
                _ => members.push((name, wanted)),
            }
        }
        Self::object(&members)
    }

    #[must_use]
    pub(crate) fn without(&self, name: &str) -> Self {
        let members: Vec<_> = self.members().filter(|(member, _)| member != name).collect();
        Self::object(&members)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn json(text: &'static str) -> Json {
        Json::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    /// Examples of RFC 7396, and what it leaves to us: digits and order.
    #[test]
    fn a_merge_patch_changes_what_it_names() {
        for (value, patch, merged) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"a":"foo"}"#, r#"{"a":{"b":{"c":null}}}"#, r#"{"a":{"b":{}}}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            (r#"{"z":1.50,"a":1}"#, r#"{"b":2}"#, r#"{"z":1.50,"a":1,"b":2}"#),
            (r#"{"a":1}"#, "{}", r#"{"a":1}"#),
        ] {
            assert_eq!(json(value).merged(&json(patch)).as_str(), merged, "{value} {patch}");
        }
    }

    #[test]
    fn a_patch_leads_from_one_object_to_another() {
        for (from, to, patch) in [
            (r#"{"a":1}"#, r#"{"a":1.0}"#, "{}"),
            (r#"{"a":1,"b":2}"#, r#"{"b":3,"c":[null]}"#, r#"{"a":null,"b":3,"c":[null]}"#),
            (r#"{"a":{"b":1,"c":{}}}"#, r#"{"a":{"b":2,"c":{}}}"#, r#"{"a":{"b":2}}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":4}"#, r#"{"a":4}"#),
        ] {
            let made = json(from).patch_to(&json(to));
            assert_eq!(made.as_str(), patch, "{from} {to}");
            assert!(json(from).merged(&made).is_equivalent(&json(to)));
        }
    }
}
