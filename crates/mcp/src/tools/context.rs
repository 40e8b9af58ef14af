//! What a tool is given besides its arguments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use render::{Budget, Part, Reply};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::{Error, ErrorKind, OpenNotebook, Progress, Report, Session};

use super::arguments::Arguments;
use crate::permissions::Permissions;

/// One call of a tool.
pub(crate) struct Context<'a> {
    pub(crate) session: &'a Session,
    /// Where progress goes; full means that it is dropped.
    pub(crate) reports: mpsc::Sender<Report>,
    pub(crate) wants_progress: bool,
    /// Cancelled when the agent takes the call back in so many words, not when it merely goes away.
    pub(crate) cancelled: CancellationToken,
    /// Whether the session is this call alone: nothing of it is there for the next.
    pub(crate) is_stateless: bool,
    /// The person behind the agent, where the agent can ask.
    pub(crate) person: Option<&'a dyn Person>,
    /// What its user may do, beyond the tool itself.
    pub(crate) may: Permissions,
}

/// Somebody who can be asked for a line.
pub(crate) trait Person: Send + Sync {
    /// Asks, and waits for the answer. `None` if the person declines or cannot be reached.
    fn ask(&self, question: String) -> BoxFuture<'_, Option<String>>;
}

/// What a tool answers.
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) is_error: bool,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { parts: reply.into_parts(), is_error: false }
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { parts: vec![Part::Text(text)], is_error: false }
    }
}

impl Answer {
    /// Outputs of code, which may have failed. If it failed and there are images, the first line says so.
    pub(crate) fn of_code(mut parts: Vec<Part>, is_error: bool) -> Self {
        if is_error && has_image(&parts) {
            match parts.first_mut() {
                Some(Part::Text(text)) => *text = format!("{FAILED}\n{text}"),
                _ => parts.insert(0, Part::Text(FAILED.to_owned())),
            }
        }
        Self { parts, is_error }
    }

    /// The `result` of the `tools/call`. Text is sent once, never again in structured form.
    pub(crate) fn into_result(self) -> Result<workspace::Answer, Error> {
        // Claude Code drops the images of an error result.
        let is_error = self.is_error && !has_image(&self.parts);
        let content = self.parts.into_iter().map(|part| match part {
            Part::Text(text) => json!({ "type": "text", "text": text }),
            Part::Image { mime, data } => {
                json!({ "type": "image", "data": STANDARD.encode(data), "mimeType": mime })
            }
        });
        let content: Vec<Value> = content.collect();
        let result = json!({ "content": content, "isError": is_error });
        let result = to_raw_value(&result).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("The answer could not be written: {error}."),
                "This is a defect of ours.",
            )
        })?;
        Ok(workspace::Answer::Result(result))
    }
}

fn has_image(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

/// The first line of a reply with images about code that failed.
pub(super) const FAILED: &str = "[FAILED] The code failed; see the error below.";

pub(crate) type Outcome = Result<Answer, Error>;

impl Context<'_> {
    /// The notebook that the arguments mean.
    pub(crate) async fn notebook(
        &self,
        arguments: &Arguments,
    ) -> Result<std::sync::Arc<OpenNotebook>, Error> {
        self.session.notebook(arguments.notebook()?.as_deref()).await
    }

    /// The budget that the arguments or else the server's settings give.
    pub(crate) fn budget(&self, arguments: &Arguments) -> Result<Budget, Error> {
        let settings = self.session.workspace().settings().budget;
        let characters = arguments.count("max_characters", settings.characters)?;
        let images = arguments.count("max_images", settings.images)?;
        Ok(Budget { characters: characters.max(LEAST_CHARACTERS), images })
    }

    /// Tells the agent how far a call is. `seconds` grows.
    pub(crate) fn progress(&self, seconds: f64, message: String) {
        if self.wants_progress {
            let progress = Progress { progress: seconds, total: None, message: Some(message) };
            let _ = self.reports.try_send(Report::Progress(progress));
        }
    }
}

/// Below this no reply can name what was left out.
const LEAST_CHARACTERS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn result(answer: Answer) -> Value {
        let workspace::Answer::Result(result) = answer.into_result().unwrap() else { panic!("an error") };
        serde_json::from_str(result.get()).unwrap()
    }

    fn failed_with(parts: Vec<Part>) -> Value {
        result(Answer::of_code(parts, true))
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
