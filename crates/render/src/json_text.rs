//! JSON as compact text.

use std::borrow::Cow;

use notebook::Json;

use crate::data_uri;

/// `json` without white space between its parts and without base64; numbers keep their digits.
pub(crate) fn compact(json: &Json) -> String {
    let text = json.as_str();
    let mut compact = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut start) = (false, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => {
                compact.push_str(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    compact.push_str(&text[start..]);
    match data_uri::replaced(&compact) {
        Cow::Owned(replaced) => replaced,
        Cow::Borrowed(_) => compact,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    #[test]
    fn white_space_goes_and_everything_else_stays() {
        let text = "{\n \"a b\": [1.50, \"x \\\" y\", -1e-9],\t\"k\\\\\": {\"z\": null}\r\n}";
        let json = Json::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap();
        assert_eq!(compact(&json), "{\"a b\":[1.50,\"x \\\" y\",-1e-9],\"k\\\\\":{\"z\":null}}");
    }

    #[test]
    fn base64_is_described() {
        let json = Json::from_value(&json!({ "src": format!("data:image/png;base64,{}", "A".repeat(400)) }));
        assert_eq!(compact(&json), r#"{"src":"image/png, 300 B"}"#);
    }
}
