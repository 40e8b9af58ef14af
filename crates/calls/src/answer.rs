//! What a tool answers.

use place::{Error, RunId, RunState};
use render::{Budget, Part, Reply};

/// The first line of a reply with images about code that failed.
const FAILED: &str = "[FAILED] The code failed; see the error below.";
/// More than any short answer has.
const UNLIMITED: usize = 500_000_000;
/// A longer text is not short.
const MAX_SHORT: usize = 1000;

/// A tool's answer; an error becomes a result that the model reads, too.
pub type Outcome = Result<Answer, Error>;

/// It stays open until it is sent, so that what is added at its beginning shares its budget.
pub struct Answer {
    reply: Reply,
    /// Whether it came as one text, which may fill a budget that is not known here.
    is_text: bool,
    /// Whether code failed.
    pub is_failure: bool,
    /// The run that it is about, as it is shown.
    pub run: Option<(RunId, RunState)>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, is_text: false, is_failure: false, run: None }
    }
}

/// A text that is short, or that fits into the budget already.
impl From<String> for Answer {
    fn from(text: String) -> Self {
        let mut reply = Reply::new(Budget::new(UNLIMITED, 0));
        reply.note(&text);
        Self { reply, is_text: true, is_failure: false, run: None }
    }
}

impl Answer {
    /// Outputs of code, which may have failed.
    pub fn of_code(reply: Reply, is_failure: bool) -> Self {
        Self { reply, is_text: false, is_failure, run: None }
    }

    #[must_use]
    pub fn about(self, run: RunId, state: RunState) -> Self {
        Self { run: Some((run, state)), ..self }
    }

    /// Adds a first line. The last one belongs to what was left out, and to what a run has changed.
    pub fn begin_with(&mut self, line: &str) {
        self.reply.note_first(line);
    }

    /// Whether so many characters can be added without leaving the budget.
    pub fn has_room(&self, characters: usize) -> bool {
        self.reply.remaining() >= if self.is_text { UNLIMITED - MAX_SHORT } else { characters }
    }

    /// Adds a last line.
    pub fn end_with(&mut self, line: &str) {
        self.reply.note_last(line);
    }

    /// Whether it holds this text already.
    pub fn mentions(&self, text: &str) -> bool {
        self.reply.mentions(text)
    }

    /// The parts of the result, and whether it is an error.
    pub fn into_parts(mut self) -> (Vec<Part>, bool) {
        // Claude Code drops the images of an error result.
        let has_image = self.reply.has_images();
        if self.is_failure && has_image {
            self.begin_with(FAILED);
        }
        (self.reply.close(), self.is_failure && !has_image)
    }
}

#[cfg(test)]
mod tests {
    use notebook::{Json, MimeBundle, Output};
    use serde_json::json;

    use super::*;

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn parts(with_image: bool, is_failure: bool) -> (Vec<Part>, bool) {
        let mut reply = Reply::new(Budget::default());
        if with_image {
            let data = Json::from_value(&json!({ "image/png": PIXEL }));
            let bundle = MimeBundle { data, metadata: Json::empty_object() };
            reply.outputs(&[Output::Display(bundle)], |_, _| String::new());
        }
        reply.note_last("[ERROR ValueError: no] run r1");
        let mut answer = Answer::of_code(reply, is_failure);
        answer.begin_with("Note: x.");
        answer.into_parts()
    }

    #[test]
    fn a_long_text_has_no_room() {
        assert!(Answer::from("short".to_owned()).has_room(400));
        assert!(!Answer::from("x".repeat(2000)).has_room(400), "it may fill the budget of the call");
        assert!(Answer::from(Reply::new(Budget::new(3000, 0))).has_room(400));
        assert!(!Answer::from(Reply::new(Budget::new(300, 0))).has_room(400));
    }

    #[test]
    fn a_failed_run_with_an_image_is_no_error_result() {
        let (shown, is_error) = parts(true, true);
        assert!(!is_error);
        let [Part::Text(text), Part::Image { .. }, ..] = &shown[..] else { panic!("{shown:?}") };
        assert!(text.starts_with(&format!("{FAILED}\nNote: x.\n")), "{text}");
        let text_only = Part::Text("Note: x.\n[ERROR ValueError: no] run r1".to_owned());
        assert_eq!(parts(false, true), (vec![text_only], true));
        let (succeeded, is_error) = parts(true, false);
        assert!(!is_error);
        assert!(matches!(succeeded[1], Part::Image { .. }));
    }
}
