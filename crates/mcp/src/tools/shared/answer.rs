//! What a tool answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use render::{Part, Reply};
use rmcp::model::{CallToolResult, ContentBlock};
use workspace::Error;

/// The first line of a reply with images about code that failed.
pub(super) const FAILED: &str = "[FAILED] The code failed; see the error below.";

/// A tool's answer; an error becomes a result that the model reads, too.
pub(crate) type Outcome = Result<Answer, Error>;

pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    /// Whether code failed.
    pub(crate) is_failure: bool,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { parts: reply.close(), is_failure: false }
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { parts: vec![Part::Text(text)], is_failure: false }
    }
}

impl Answer {
    /// Outputs of code, which may have failed. If it failed and there are images, the first line says so.
    pub(crate) fn of_code(parts: Vec<Part>, is_failure: bool) -> Self {
        let mut answer = Self { parts, is_failure };
        if is_failure && has_image(&answer.parts) {
            answer.begin_with(FAILED);
        }
        answer
    }

    /// Adds a first line. The last one belongs to what was left out, and to what a run has changed.
    pub(crate) fn begin_with(&mut self, line: &str) {
        match self.parts.first_mut() {
            Some(Part::Text(text)) => *text = format!("{line}\n{text}"),
            _ => self.parts.insert(0, Part::Text(line.to_owned())),
        }
    }

    /// The result of the call. Text is sent once, never again in structured form: clients would show only that.
    pub(crate) fn into_result(self) -> CallToolResult {
        // Claude Code drops the images of an error result.
        let is_error = self.is_failure && !has_image(&self.parts);
        let content = self.parts.into_iter().map(|part| match part {
            Part::Text(text) => ContentBlock::text(text),
            Part::Image { mime, data } => ContentBlock::image(STANDARD.encode(data), mime),
        });
        let mut result = CallToolResult::success(content.collect());
        result.is_error = Some(is_error);
        result
    }
}

fn has_image(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(answer: Answer) -> Value {
        serde_json::to_value(answer.into_result()).unwrap()
    }

    fn failed_with(parts: Vec<Part>) -> Value {
        result(Answer::of_code(parts, true))
    }

    #[test]
    fn a_line_that_is_added_leaves_the_last_one_where_it_is() {
        let texts = |parts: Vec<Part>| {
            let mut answer = Answer { parts, is_failure: false };
            answer.begin_with("Note: x.");
            answer.parts
        };
        let text = |text: &str| Part::Text(text.to_owned());
        let image = || Part::Image { mime: "image/png", data: Vec::new() };
        assert_eq!(texts(vec![text("a\n[last]")]), [text("Note: x.\na\n[last]")]);
        assert_eq!(texts(vec![image(), text("[last]")]), [text("Note: x."), image(), text("[last]")]);
    }

    #[test]
    fn a_failed_run_with_an_image_is_no_error_result() {
        let image = || Part::Image { mime: "image/png", data: b"plot".to_vec() };
        let text = || Part::Text("[ERROR ValueError: no] run r1".to_owned());
        let shown = failed_with(vec![image(), text()]);
        assert_eq!(shown["isError"], false);
        assert!(shown["content"][0]["text"].as_str().unwrap().starts_with("[FAILED]"), "{shown}");
        assert_eq!(shown["content"][1]["type"], "image");
        let text_only = failed_with(vec![text()]);
        assert_eq!(text_only["isError"], true);
        assert!(!text_only["content"][0]["text"].as_str().unwrap().contains("[FAILED]"), "{text_only}");
        let succeeded = result(Answer::of_code(vec![image()], false));
        assert_eq!(
            (&succeeded["isError"], &succeeded["content"][0]["type"]),
            (&json!(false), &json!("image"))
        );
    }
}
