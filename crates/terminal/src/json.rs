//! JSON for a script, which a person may look at, too.

use std::fmt::Write as _;

use notebook::is_hidden;

/// The same JSON with hidden characters, which only strings contain, as escapes. It means the same as before.
pub(super) fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(visible, "\\u{unit:04x}");
            }
        } else {
            visible.push(c);
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}2K\u{7f}\u{e0041}\u{1b}é" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = visible_json(&text);
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
