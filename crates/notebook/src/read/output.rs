//! Reads an output of nbformat 4.

use std::borrow::Cow;

use crate::json::{is_multiline, strings, unescape, unescape_into};
use crate::{Json, MimeBundle, Output, Text};

impl Output {
    /// Reads one element of `outputs`; the contents of MIME bundles are not copied.
    pub fn from_json(json: &Json) -> Self {
        Self::try_read(json).unwrap_or_else(|| Self::Other(json.clone()))
    }

    /// `None` for an output that nbformat 4 does not know.
    fn try_read(json: &Json) -> Option<Self> {
        let text = |name| json.member(name).as_ref().and_then(Json::multiline_text).map(Cow::into_owned);
        let bundle = || {
            let metadata = json.member("metadata").filter(Json::is_object);
            let data = json.member("data").filter(Json::is_object)?;
            Some(MimeBundle { data, metadata: metadata.unwrap_or(Json::empty_object()) })
        };
        Some(match &*text("output_type")? {
            "stream" => {
                let name = text("name").unwrap_or_else(|| "stdout".to_owned());
                Self::Stream { name, text: stream_text(json.member("text").as_ref())? }
            }
            "display_data" => Self::Display(bundle()?),
            "execute_result" => {
                let execution_count = json.member("execution_count").as_ref().and_then(Json::count);
                Self::Result { execution_count, bundle: bundle()? }
            }
            "error" => Self::Error {
                name: text("ename").unwrap_or_default(),
                value: text("evalue").unwrap_or_default(),
                traceback: json
                    .member("traceback")
                    .map(|lines| strings(lines.as_str()).map(|line| unescape(line).into()).collect())
                    .unwrap_or_default(),
            },
            _ => return None,
        })
    }
}

fn stream_text(json: Option<&Json>) -> Option<Text> {
    let Some(json) = json else { return Some(Text::default()) };
    if !is_multiline(json.as_str()) {
        return None;
    }
    let mut text = Text::default();
    for part in strings(json.as_str()) {
        unescape_into(part, |piece| text.push(piece));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_that_nbformat_does_not_know_is_kept() {
        let odd = [
            json!({ "output_type": "display_data", "data": [1] }),
            json!({ "output_type": "execute_result" }),
            json!({ "output_type": "stream", "name": "stdout", "text": ["a", 1] }),
            json!({ "output_type": "new" }),
            json!({ "output_type": 1 }),
            json!({}),
            json!(null),
        ];
        for output in odd {
            let json = Json::from_value(&output);
            assert_eq!(Output::from_json(&json), Output::Other(json));
        }
    }

    #[test]
    fn missing_members_are_empty() {
        let read = |output| Output::from_json(&Json::from_value(&output));
        let stream = Output::Stream { name: "stdout".to_owned(), text: Text::default() };
        assert_eq!(read(json!({ "output_type": "stream" })), stream);
        let error = Output::Error { name: String::new(), value: String::new(), traceback: Vec::new() };
        assert_eq!(read(json!({ "output_type": "error" })), error);
        let result = read(json!({ "output_type": "execute_result", "data": {}, "execution_count": 3.0 }));
        let bundle = MimeBundle { data: Json::empty_object(), metadata: Json::empty_object() };
        assert_eq!(result, Output::Result { execution_count: Some(3), bundle });
    }
}
