//! Answers to tool calls.

use anyhow::{Result, ensure};
use serde_json::Value;

/// The text of an answer to `tools/call`. Fails if the tool failed.
pub(crate) fn text_of(answer: &[u8]) -> Result<String> {
    let answer: Value = serde_json::from_slice(answer)?;
    let result = &answer["result"];
    let blocks = result["content"].as_array().into_iter().flatten();
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    ensure!(result.is_object() && result["isError"] != true, "a call failed: {answer}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_is_an_error() {
        assert_eq!(text_of(br#"{"result":{"content":[{"type":"text","text":"2"}]}}"#).unwrap(), "2");
        assert!(text_of(br#"{"result":{"content":[],"isError":true}}"#).is_err());
        assert!(text_of(br#"{"error":{"code":-32602,"message":"no"}}"#).is_err());
    }
}
