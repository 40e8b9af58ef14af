//! The answer to a tool call.

use anyhow::{Context as _, ensure};
use serde_json::Value;

pub(crate) struct Answer {
    tool: String,
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
    pub(crate) is_error: bool,
    pub(crate) progress: Vec<String>,
}

pub(crate) struct Image {
    pub(crate) mime: String,
    pub(crate) bytes: usize,
}

impl Answer {
    pub(crate) fn read(tool: &str, result: &Value, progress: Vec<String>) -> anyhow::Result<Self> {
        let content =
            result["content"].as_array().with_context(|| format!("{tool} answered without content"))?;
        let (mut text, mut images) = (String::new(), Vec::new());
        for block in content {
            match block["type"].as_str() {
                Some("text") => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(block["text"].as_str().unwrap_or_default());
                }
                Some("image") => {
                    let data = block["data"].as_str().unwrap_or_default();
                    let mime = block["mimeType"].as_str().unwrap_or_default().to_owned();
                    images.push(Image { mime, bytes: data.trim_end_matches('=').len() * 3 / 4 });
                }
                other => anyhow::bail!("{tool} answered with content of type {other:?}"),
            }
        }
        let is_error = result["isError"].as_bool().unwrap_or_default();
        Ok(Self { tool: tool.to_owned(), text, images, is_error, progress })
    }

    /// Fails unless the text holds all of `expected`.
    pub(crate) fn expect(&self, expected: &[&str]) -> anyhow::Result<()> {
        for part in expected {
            ensure!(
                self.text.contains(part),
                "{} should have answered {part:?}, but answered:\n{}",
                self.tool,
                self.text
            );
        }
        Ok(())
    }

    /// The word (letters, digits, `-` and `_`) after a mark in the text.
    pub(crate) fn word_after(&self, mark: &str) -> anyhow::Result<String> {
        let found = self.text.split_once(mark).map(|(_, rest)| {
            rest.chars().take_while(|it| it.is_alphanumeric() || matches!(it, '-' | '_')).collect::<String>()
        });
        found
            .filter(|word| !word.is_empty())
            .with_context(|| format!("{} answered nothing after {mark:?}:\n{}", self.tool, self.text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(content: &Value) -> anyhow::Result<Answer> {
        Answer::read("execute_cell", &json!({ "content": content }), Vec::new())
    }

    #[test]
    fn texts_are_joined_and_images_measured() {
        let picture = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw==" });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let answer = answer(&json!([text("one"), picture, text("run r12, done")])).unwrap();
        assert_eq!(answer.text, "one\nrun r12, done");
        assert_eq!((answer.images[0].mime.as_str(), answer.images[0].bytes), ("image/png", 4));
        assert_eq!(answer.word_after("run ").unwrap(), "r12");
        answer.expect(&["one", "done"]).unwrap();
    }

    #[test]
    fn a_missing_text_is_named_beside_the_answer() {
        let answer = answer(&json!([{ "type": "text", "text": "no such cell" }])).unwrap();
        let error = answer.expect(&["COMPLETED"]).unwrap_err().to_string();
        assert!(error.contains("COMPLETED") && error.contains("no such cell"), "{error}");
        assert!(answer.word_after("(id ").is_err());
    }
}
