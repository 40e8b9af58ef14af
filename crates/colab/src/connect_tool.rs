//! Opens a tab in a browser, waits for it, and says why it is not connected: `open_colab_browser_connection` for the first.

use std::sync::Arc;
use std::time::Duration;

use notebook::Json;
use parking_lot::Mutex;
use place::{ADDED_BY_CLIENTS, Answer, Call, Error, ErrorKind, Progress, Report, is_left_out};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use crate::browser::{Browser, BrowserCommand};
use crate::browser_activity::{BrowserEvent, Diagnosis, Mark};
use crate::handshake;
use crate::notebook_url::NotebookUrl;
use crate::relay::Settings;
use crate::tab_connection::TabConnection;
use crate::tools::CONNECT;

const MAX_TIMEOUT_SECONDS: f64 = 3600.0;

/// Opens one tab, for all agents of one server.
pub(crate) struct ConnectTool {
    connection: Arc<TabConnection>,
    settings: Arc<Settings>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The notebook of the tab, as far as we know: the URL that it was opened with last. A page does not say what it shows.
    url: Option<NotebookUrl>,
    /// Whether the person could have opened the tab, in a browser that we opened or by hand.
    is_shown: bool,
    /// The URL that a call has opened and waits for: a second agent does not open a second tab.
    opening: Option<NotebookUrl>,
}

/// No page accepted calls in time.
pub(crate) struct NotJoined {
    /// The events that were seen instead.
    diagnosis: Diagnosis,
    /// The reason why the browser was not opened.
    browser_problem: Option<String>,
}

struct Arguments {
    url: NotebookUrl,
    timeout: Option<Duration>,
}

impl ConnectTool {
    /// For a tab that is to show `url`. Without one it is the first tab, which a person may have opened already for an
    /// earlier start of this server.
    pub(crate) fn new(
        connection: Arc<TabConnection>,
        settings: Arc<Settings>,
        url: Option<NotebookUrl>,
    ) -> Self {
        let state = State { is_shown: url.is_none(), url, opening: None };
        Self { connection, settings, state: Mutex::new(state) }
    }

    /// The URL that the tab was opened with.
    pub(crate) fn url(&self) -> Option<NotebookUrl> {
        self.state.lock().url.clone()
    }

    /// Gives a tab that was never opened a URL. Returns whether it had none.
    pub(crate) fn claim(&self, url: &NotebookUrl) -> bool {
        let mut state = self.state.lock();
        let is_free = state.url.is_none();
        if is_free {
            state.url = Some(url.clone());
        }
        is_free
    }

    /// The time to wait for the person. Without a browser that we opened, nobody can open a new tab before its
    /// address was shown.
    pub(crate) fn timeout(&self, is_new: bool) -> Duration {
        if is_new && self.settings.browser == Browser::Never {
            Duration::ZERO
        } else {
            self.settings.connect_timeout
        }
    }

    /// Whether a call has opened the tab and waits for it.
    pub(crate) fn is_opening(&self) -> bool {
        self.state.lock().opening.is_some()
    }

    /// Waits for a page, and opens a browser first if that is allowed and useful.
    pub(crate) async fn connect(&self, arguments: Option<&Json>, call: &Call) -> Result<Answer, Error> {
        let Arguments { url, timeout } = parse(arguments)?;
        let report = |step: f64, message: String| {
            if call.wants_progress {
                let progress = Progress { progress: step, total: Some(3.0), message: Some(message) };
                let _ = call.reports.try_send(Report::Progress(progress));
            }
        };
        match self.join(&url, timeout.unwrap_or(self.settings.connect_timeout), report).await {
            Ok(()) => answer(&[], true),
            Err(failure) => answer(&self.explain(failure, &url, &format!("call {CONNECT} again")), false),
        }
    }

    /// The obstacle to the connection, and what the person can do, in whole sentences. `retry` is what the agent does then.
    pub(crate) fn explain(&self, failure: NotJoined, url: &NotebookUrl, retry: &str) -> Vec<String> {
        let NotJoined { diagnosis, browser_problem } = failure;
        let mut sentences = vec![diagnosis.describe(retry)];
        if diagnosis != Diagnosis::After(BrowserEvent::Connected) {
            sentences.extend(browser_problem);
            sentences.push(self.directions(url, retry));
        }
        sentences
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
        let since = self.connection.mark();
        if self.connection.page().is_some() && self.wait_for_page(deadline).await {
            return Ok(());
        }
        report(1.0, "The user is not connected to the Colab UI".into());
        let opened = self.open(url, timeout, since).await;
        let waiting =
            format!("Waiting for user to connect in Colab - will wait for {}s", timeout.as_secs_f64());
        report(2.0, waiting);
        if self.wait_for_page(deadline).await {
            report(3.0, "The Colab UI is successfully connected!".into());
            return Ok(());
        }
        report(3.0, "Timeout while waiting for the user to connect.".into());
        Err(NotJoined { diagnosis: self.connection.diagnose(since), browser_problem: opened.problem() })
    }

    /// Waits until a page accepts calls.
    async fn wait_for_page(&self, deadline: Instant) -> bool {
        let mut changes = self.connection.changes();
        let ready = async {
            loop {
                changes.mark_unchanged();
                if let Some(page) = self.connection.page()
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

    async fn open(&self, url: &NotebookUrl, timeout: Duration, since: Mark) -> OpenedBrowser<'_> {
        let mut opened = OpenedBrowser { tool: self, is_first: false, command: None };
        if !self.may_open(url, timeout, since) {
            return opened;
        }
        opened.is_first = true;
        let url = url.with_token(self.connection.token.expose(), self.connection.port);
        let mut command = self.settings.browser.open(&url, &self.settings.desktop).await;
        if let Ok(Some(command)) = &mut command {
            self.connection.hold_until_connected(command.take_redirect());
        }
        opened.command = command.transpose();
        opened
    }

    /// Whether this call is to open the browser; if so, others do not until it ends.
    fn may_open(&self, url: &NotebookUrl, timeout: Duration, since: Mark) -> bool {
        let mut state = self.state.lock();
        // A call with timeout 0 only asks for the state. A tab that shows its prompt is open already; that of a tab which
        // nobody could open is another's.
        let is_open = match self.connection.diagnose(since) {
            Diagnosis::After(BrowserEvent::Connected) => true,
            Diagnosis::PromptShowing => state.is_shown,
            _ => false,
        };
        if timeout.is_zero() || is_open || state.opening.as_ref() == Some(url) {
            return false;
        }
        *state = State { url: Some(url.clone()), is_shown: true, opening: Some(url.clone()) };
        true
    }

    /// Directions for the person to open the tab, which shows `url` from then on.
    fn directions(&self, url: &NotebookUrl, retry: &str) -> String {
        {
            let mut state = self.state.lock();
            (state.url, state.is_shown) = (Some(url.clone()), true);
        }
        let (token, port) = (self.connection.token.expose(), self.connection.port);
        format!(
            "To connect, open this URL in a browser on this machine:\n{}\nor, in a Colab notebook that is already \
             open, choose Tools > Command palette > \"Connect to a local Colab MCP server\" and paste \
             this line:\n{}\nIf the browser runs on another machine, first run there: \
             ssh -L {port}:localhost:{port} <this machine>\nThe tab may also connect later; then {retry}.",
            url.with_token(token, port),
            handshake::line(token, port),
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
            Ok(mut command) => command.problem(),
            Err(problem) => Some(problem),
        }
    }
}

impl Drop for OpenedBrowser<'_> {
    fn drop(&mut self) {
        if self.is_first {
            self.tool.state.lock().opening = None;
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
        .with_source(error)
    })
}

fn parse(arguments: Option<&Json>) -> Result<Arguments, Error> {
    let wrong = |cause: String| {
        let hint = format!(
            "Call {CONNECT} without arguments, or with timeout_seconds (0 to {MAX_TIMEOUT_SECONDS}), notebook_url (a \
             Colab URL) or authuser (a number from 0)."
        );
        Error::new(ErrorKind::InvalidArgument, cause, hint)
    };
    let arguments: Map<String, Value> = match arguments.map(Json::as_str) {
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
            ("notebook_url" | "authuser" | "timeout_seconds", value) if is_left_out(value) => {}
            (name, _) if name.starts_with('_') || ADDED_BY_CLIENTS.contains(&name) => {}
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
        parse(Some(&Json::parse(text.to_owned().into()).unwrap()))
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
        let empty = r#"{"notebook_url":"","authuser":"","timeout_seconds":"none","reason":"x","_meta":{}}"#;
        assert_eq!(parsed(empty).unwrap().url, parse(None).unwrap().url);
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
