//! The outputs of a code cell.

use std::borrow::Cow;

use crate::{Json, Text};

/// One output, in the terms of nbformat 4.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// `stream`.
    Stream {
        /// `stdout` or `stderr`, rarely anything else.
        name: String,
        /// Control characters included.
        text: Text,
    },
    /// `display_data`.
    Display(MimeBundle),
    /// `execute_result`.
    Result { execution_count: Option<u64>, bundle: MimeBundle },
    /// `error`.
    Error {
        name: String,
        value: String,
        /// Lines of the traceback; they may hold ANSI escapes and line breaks.
        traceback: Vec<String>,
    },
    /// An output of a type that nbformat 4 does not know, as it is in the file.
    Other(Json),
}

/// The same content in several MIME types, as in nbformat.
#[derive(Debug, Clone, PartialEq)]
pub struct MimeBundle {
    /// An object: MIME type → a string, a list of strings (lines of one string), or JSON.
    pub data: Json,
    /// An object: MIME type → what is known about it, for example `{"image/png": {"width": 640}}`.
    pub metadata: Json,
}

impl MimeBundle {
    /// The content of one MIME type, without a copy.
    pub fn get(&self, mime: &str) -> Option<Json> {
        self.data.member(mime)
    }

    /// The content of one MIME type, if it is text.
    pub fn text(&self, mime: &str) -> Option<String> {
        self.get(mime)?.multiline_text().map(Cow::into_owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_are_found_by_mime_type() {
        let data = json!({ "text/plain": ["a\n", "b"], "image/png": "aGk=", "application/json": { "k": 1 } });
        let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
        assert_eq!(bundle.text("text/plain").as_deref(), Some("a\nb"));
        assert_eq!(bundle.text("image/png").as_deref(), Some("aGk="));
        assert_eq!(bundle.text("application/json"), None);
        assert_eq!(bundle.get("application/json").unwrap().as_str(), "{\"k\":1}");
        assert_eq!(bundle.get("text/html"), None);
    }
}
