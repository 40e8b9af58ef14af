//! `open_colab_browser_connection`: opens Colab in a browser, waits for the tab, and says why none is connected.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};
use workspace::{Answer, Call, Error, ErrorKind, Progress, Report};

use crate::bridge::Bridge;
use crate::browser::{Browser, BrowserCommand};
use crate::browser_activity::{Diagnosis, Mark};
use crate::notebook_url::NotebookUrl;
use crate::tools::CONNECT;

const MAX_TIMEOUT_SECONDS: f64 = 3600.0;

/// The tool, shared by all agents of one server.
pub(crate) struct ConnectTool {
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) browser: Browser,
    /// How long to wait for the person if the call does not say.
    pub(crate) default_timeout: Duration,
    /// The URL that a call has opened and waits for: a second agent does not open a second tab.
    pub(crate) opening: Mutex<Option<NotebookUrl>>,
}

/// No page accepted calls in time.
pub(crate) struct NotJoined {
    /// What was seen instead, in whole sentences.
    pub(crate) seen: Vec<String>,
    /// A page is connected, but does not accept calls yet.
    is_connected: bool,
}

struct Arguments {
    url: NotebookUrl,
    timeout: Option<Duration>,
}

impl ConnectTool {
    /// Waits for a page, and opens a browser first if that is allowed and useful.
    pub(crate) async fn connect(&self, arguments: Option<&RawValue>, call: &Call) -> Result<Answer, Error> {
        let Arguments { url, timeout } = parse(arguments)?;
        let report = |step: f64, message: String| {
            if call.wants_progress {
                let progress = Progress { progress: step, total: Some(3.0), message: Some(message) };
                let _ = call.reports.try_send(Report::Progress(progress));
            }
        };
        match self.join(&url, timeout.unwrap_or(self.default_timeout), report).await {
            Ok(()) => answer(&[], true),
            Err(NotJoined { mut seen, is_connected }) => {
                if !is_connected {
                    seen.push(self.directions(&url));
                }
                answer(&seen, false)
            }
        }
    }

    /// Waits up to `timeout` for a page that accepts calls, and opens a browser first if that is allowed and useful.
    /// `report` receives the step (of 3) and what happens in it.
    pub(crate) async fn join(
        &self,
        url: &NotebookUrl,
        timeout: Duration,
        report: impl Fn(f64, String),
    ) -> Result<(), NotJoined> {
        let deadline = Instant::now() + timeout;
        let since = self.bridge.mark();
        if self.bridge.page().is_some() && self.wait_for_page(deadline).await {
            return Ok(());
        }
        report(1.0, "The user is not connected to the Colab UI".into());
        let opened = self.open(url, timeout, since);
        let waiting =
            format!("Waiting for user to connect in Colab - will wait for {}s", timeout.as_secs_f64());
        report(2.0, waiting);
        if self.wait_for_page(deadline).await {
            report(3.0, "The Colab UI is successfully connected!".into());
            return Ok(());
        }
        report(3.0, "Timeout while waiting for the user to connect.".into());
        let diagnosis = self.bridge.diagnose(since);
        let (mut seen, is_connected) = (vec![diagnosis.to_string()], diagnosis == Diagnosis::Connected);
        if !is_connected {
            seen.extend(opened.problem());
        }
        Err(NotJoined { seen, is_connected })
    }

    /// Waits until a page accepts calls.
    async fn wait_for_page(&self, deadline: Instant) -> bool {
        let mut changes = self.bridge.changes();
        let ready = async {
            loop {
                changes.mark_unchanged();
                if let Some(page) = self.bridge.page()
                    && page.ready().await
                {
                    return;
                }
                if changes.changed().await.is_err() {
                    // The listener is gone; wait for the timeout below.
                    std::future::pending::<()>().await;
                }
            }
        };
        timeout_at(deadline, ready).await.is_ok()
    }

    fn open(&self, url: &NotebookUrl, timeout: Duration, since: Mark) -> OpenedBrowser<'_> {
        // A call with timeout 0 only asks for the state. A tab that shows its prompt is open already.
        let is_open = matches!(self.bridge.diagnose(since), Diagnosis::PromptShowing | Diagnosis::Connected);
        let nothing_opened = OpenedBrowser { tool: self, is_first: false, command: None };
        if timeout.is_zero() || is_open {
            return nothing_opened;
        }
        let mut opening = self.opening.lock();
        if opening.as_ref() == Some(url) {
            return nothing_opened;
        }
        *opening = Some(url.clone());
        let url = url.with_token(self.bridge.token.expose(), self.bridge.port);
        OpenedBrowser { tool: self, is_first: true, command: Some(self.browser.open(&url)) }
    }

    fn directions(&self, url: &NotebookUrl) -> String {
        let (token, port) = (self.bridge.token.expose(), self.bridge.port);
        format!(
            "To connect, open this URL in a browser on this machine:\n{}\nor, in a Colab notebook that is already \
             open, choose Tools > Command palette > \"Connect to a local Colab MCP server\" and paste \
             this line:\n{token}&{port}\nIf the browser runs on another machine, first run there: \
             ssh -L {port}:localhost:{port} <this machine>\nThe tab may also connect later; then call {CONNECT} \
             again.",
            url.with_token(token, port),
        )
    }
}

/// A browser that a call has opened and waits for.
struct OpenedBrowser<'a> {
    tool: &'a ConnectTool,
    /// Whether this call has opened it; another call may have opened the same URL.
    is_first: bool,
    command: Option<Result<BrowserCommand, String>>,
}

impl OpenedBrowser<'_> {
    fn problem(mut self) -> Option<String> {
        match self.command.take()? {
            Ok(mut command) => command.failure(),
            Err(problem) => Some(problem),
        }
    }
}

impl Drop for OpenedBrowser<'_> {
    fn drop(&mut self) {
        if self.is_first {
            *self.tool.opening.lock() = None;
        }
    }
}

fn answer(seen: &[String], is_connected: bool) -> Result<Answer, Error> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let mut content = vec![text(if is_connected { "true" } else { "false" })];
    let mut structured = json!({ "result": is_connected });
    if !seen.is_empty() {
        let message = seen.join("\n\n");
        content.push(text(&message));
        // Claude Code and Codex show a model only the structured part.
        structured["message"] = message.into();
    }
    let result = json!({ "content": content, "structuredContent": structured, "isError": false });
    to_raw_value(&result).map(Answer::Result).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("The answer could not be written: {error}."),
            "Report this as a bug.",
        )
    })
}

fn parse(arguments: Option<&RawValue>) -> Result<Arguments, Error> {
    let wrong = |cause: String| {
        let hint = format!(
            "Call {CONNECT} without arguments, or with timeout_seconds (0 to {MAX_TIMEOUT_SECONDS}), notebook_url (a \
             Colab URL) or authuser (a number from 0)."
        );
        Error::new(ErrorKind::InvalidArgument, cause, hint)
    };
    let arguments: Map<String, Value> = match arguments.map(RawValue::get) {
        None | Some("null") => Map::new(),
        Some(text) => {
            serde_json::from_str(text).map_err(|_| wrong("The arguments are not an object.".into()))?
        }
    };
    let (mut notebook, mut authuser, mut timeout) = (None, None, None);
    for (name, value) in &arguments {
        // Some clients send numbers as strings.
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        match (name.as_str(), value) {
            ("notebook_url" | "authuser" | "timeout_seconds", Value::Null) => {}
            ("notebook_url", Value::String(url)) => notebook = Some(url.as_str()),
            ("notebook_url", _) => return Err(wrong("notebook_url is not a string.".into())),
            ("authuser", _) => {
                let whole = number.filter(|number| (0.0..=99.0).contains(number) && number.fract() == 0.0);
                let whole = whole.ok_or_else(|| wrong("authuser is not a number from 0 to 99.".into()))?;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
                let whole = whole as u64;
                authuser = Some(whole);
            }
            ("timeout_seconds", _) => {
                let seconds = number.filter(|seconds| (0.0..=MAX_TIMEOUT_SECONDS).contains(seconds));
                let seconds =
                    seconds.ok_or_else(|| wrong("timeout_seconds is not a number from 0 to 3600.".into()))?;
                timeout = Some(Duration::from_secs_f64(seconds));
            }
            (other, _) => return Err(wrong(format!("There is no argument {other:?}."))),
        }
    }
    Ok(Arguments { url: NotebookUrl::new(notebook, authuser)?, timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Arguments, Error> {
        parse(Some(&RawValue::from_string(text.to_owned()).unwrap()))
    }

    #[test]
    fn the_structured_result_repeats_the_message() {
        let result = |seen: &[String], is_connected| -> Value {
            let Answer::Result(result) = answer(seen, is_connected).unwrap() else { panic!("an error") };
            serde_json::from_str(result.get()).unwrap()
        };
        let failed =
            result(&["No browser has connected.".to_owned(), "Open this address.".to_owned()], false);
        let message = "No browser has connected.\n\nOpen this address.";
        assert_eq!(failed["structuredContent"], json!({ "result": false, "message": message }));
        assert_eq!(failed["content"][1]["text"], message);
        assert_eq!(result(&[], true)["structuredContent"], json!({ "result": true }));
    }

    #[test]
    fn arguments_are_optional_and_numbers_may_be_strings() {
        assert!(parse(None).unwrap().timeout.is_none());
        assert!(parsed("null").is_ok());
        assert!(parsed(r#"{"timeout_seconds":null}"#).unwrap().timeout.is_none());
        assert_eq!(
            parsed(r#"{"timeout_seconds":"2.5"}"#).unwrap().timeout,
            Some(Duration::from_millis(2500))
        );
        let url = parsed(r#"{"authuser":"1"}"#).unwrap().url.with_token("T", 1);
        assert!(url.contains("?authuser=1#"), "{url}");
    }

    #[test]
    fn errors_of_arguments_say_what_is_wrong_and_what_is_right() {
        for (arguments, named) in [
            ("[]", "object"),
            (r#"{"timeout_seconds":-1}"#, "timeout_seconds"),
            (r#"{"timeout_seconds":"soon"}"#, "timeout_seconds"),
            (r#"{"timeout_seconds":1e300}"#, "timeout_seconds"),
            (r#"{"authuser":"me@example.com"}"#, "authuser"),
            (r#"{"authuser":1.5}"#, "authuser"),
            (r#"{"notebook_url":7}"#, "notebook_url"),
            (r#"{"notebook_url":"https://evil.example/"}"#, "notebook_url"),
            (r#"{"surprise":1}"#, "surprise"),
        ] {
            let Err(error) = parsed(arguments) else { panic!("{arguments} was accepted") };
            assert!(error.cause.contains(named), "{arguments}: {error}");
        }
    }
}
