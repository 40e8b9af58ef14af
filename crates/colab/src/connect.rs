//! `open_colab_browser_connection`: brings a tab to this server, and says what is in the way.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};
use workspace::{Answer, Call, Error, ErrorKind, Progress, Report};

use crate::address::Address;
use crate::bridge::Bridge;
use crate::browser::{Browser, Launch};
use crate::sightings::{Diagnosis, Mark};
use crate::tools::CONNECT;

const LONGEST_WAIT: f64 = 3600.0;

/// Opens connections for all agents of one server.
pub(crate) struct Connector {
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) browser: Browser,
    /// How long to wait for the person where the call does not say.
    pub(crate) patience: Duration,
    /// The address that is open in a browser while somebody waits for it: a second agent opens no second tab.
    pub(crate) opening: Mutex<Option<Address>>,
}

struct Arguments {
    address: Address,
    patience: Option<Duration>,
}

impl Connector {
    /// Waits for a page, in a browser that it opens where that is allowed and useful.
    pub(crate) async fn connect(&self, arguments: Option<&RawValue>, call: &Call) -> Result<Answer, Error> {
        let Arguments { address, patience } = parse(arguments)?;
        let patience = patience.unwrap_or(self.patience);
        let deadline = Instant::now() + patience;
        let since = self.bridge.mark();
        if self.bridge.page().is_some() && self.arrival(deadline).await {
            return answer(&[], true);
        }
        let report = |step: f64, message: String| {
            if call.wants_progress {
                let progress = Progress { progress: step, total: Some(3.0), message: Some(message) };
                let _ = call.reports.try_send(Report::Progress(progress));
            }
        };
        report(1.0, "The user is not connected to the Colab UI".into());
        let opened = self.open(&address, patience, since);
        let waiting =
            format!("Waiting for user to connect in Colab - will wait for {}s", patience.as_secs_f64());
        report(2.0, waiting);
        let is_connected = self.arrival(deadline).await;
        if is_connected {
            report(3.0, "The Colab UI is successfully connected!".into());
            return answer(&[], true);
        }
        report(3.0, "Timeout while waiting for the user to connect.".into());
        let diagnosis = self.bridge.diagnose(since);
        let mut seen = vec![diagnosis.to_string()];
        if diagnosis != Diagnosis::Connected {
            seen.extend(opened.problem());
            seen.push(self.directions(&address));
        }
        answer(&seen, false)
    }

    /// Waits until calls can flow to a page.
    async fn arrival(&self, deadline: Instant) -> bool {
        let mut changes = self.bridge.changes();
        let arrival = async {
            loop {
                changes.mark_unchanged();
                if let Some(page) = self.bridge.page()
                    && page.ready().await
                {
                    return;
                }
                if changes.changed().await.is_err() {
                    // The listener is gone; the time-out below answers.
                    std::future::pending::<()>().await;
                }
            }
        };
        timeout_at(deadline, arrival).await.is_ok()
    }

    fn open(&self, address: &Address, patience: Duration, since: Mark) -> Opened<'_> {
        // Nobody asks for a tab who does not wait for one; and a tab that shows its prompt is open already.
        let is_here = matches!(self.bridge.diagnose(since), Diagnosis::PromptShowing | Diagnosis::Connected);
        if patience.is_zero() || is_here {
            return Opened { connector: self, is_first: false, launch: None };
        }
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if opening.as_ref() == Some(address) {
            return Opened { connector: self, is_first: false, launch: None };
        }
        *opening = Some(address.clone());
        let secret = address.with_secret(self.bridge.token.expose(), self.bridge.port);
        Opened { connector: self, is_first: true, launch: Some(self.browser.open(&secret)) }
    }

    fn directions(&self, address: &Address) -> String {
        let (token, port) = (self.bridge.token.expose(), self.bridge.port);
        format!(
            "To connect, open this address in a browser on this machine:\n{}\nor, in a Colab notebook that is \
             open already, choose Tools > Command palette > \"Connect to a local Colab MCP server\" and paste \
             this line:\n{token}&{port}\nIf the browser runs on another machine, first run there: \
             ssh -L {port}:localhost:{port} <this machine>\nA tab that connects later is welcome; then call \
             {CONNECT} again.",
            address.with_secret(token, port),
        )
    }
}

/// One browser that was opened, until nobody waits for it any more.
struct Opened<'a> {
    connector: &'a Connector,
    is_first: bool,
    launch: Option<Result<Launch, String>>,
}

impl Opened<'_> {
    fn problem(mut self) -> Option<String> {
        match self.launch.take()? {
            Ok(mut launch) => launch.failure(),
            Err(problem) => Some(problem),
        }
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if self.is_first {
            *self.connector.opening.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

fn answer(seen: &[String], is_connected: bool) -> Result<Answer, Error> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let mut content = vec![text(if is_connected { "true" } else { "false" })];
    if !seen.is_empty() {
        content.push(text(&seen.join("\n\n")));
    }
    let result = json!({
        "content": content,
        "structuredContent": { "result": is_connected },
        "isError": false,
    });
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
            "Call {CONNECT} without arguments, or with timeout_seconds (0 to {LONGEST_WAIT}), notebook_url (a \
             Colab address) or authuser (a number from 0)."
        );
        Error::new(ErrorKind::InvalidArgument, cause, hint)
    };
    let arguments: Map<String, Value> = match arguments.map(RawValue::get) {
        None | Some("null") => Map::new(),
        Some(text) => {
            serde_json::from_str(text).map_err(|_| wrong("The arguments are not an object.".into()))?
        }
    };
    let (mut notebook, mut authuser, mut patience) = (None, None, None);
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
                let seconds = number.filter(|seconds| (0.0..=LONGEST_WAIT).contains(seconds));
                let seconds =
                    seconds.ok_or_else(|| wrong("timeout_seconds is not a number from 0 to 3600.".into()))?;
                patience = Some(Duration::from_secs_f64(seconds));
            }
            (other, _) => return Err(wrong(format!("There is no argument {other:?}."))),
        }
    }
    Ok(Arguments { address: Address::new(notebook, authuser)?, patience })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Arguments, Error> {
        parse(Some(&RawValue::from_string(text.to_owned()).unwrap()))
    }

    #[test]
    fn arguments_are_optional_and_numbers_may_be_strings() {
        assert!(parse(None).unwrap().patience.is_none());
        assert!(parsed("null").is_ok());
        assert!(parsed(r#"{"timeout_seconds":null}"#).unwrap().patience.is_none());
        assert_eq!(
            parsed(r#"{"timeout_seconds":"2.5"}"#).unwrap().patience,
            Some(Duration::from_millis(2500))
        );
        let address = parsed(r#"{"authuser":"1"}"#).unwrap().address.with_secret("T", 1);
        assert!(address.contains("?authuser=1#"), "{address}");
    }

    #[test]
    fn bad_arguments_say_what_is_wrong_and_what_is_right() {
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
            let Err(error) = parsed(arguments) else { panic!("{arguments} was taken") };
            assert!(error.cause.contains(named), "{arguments}: {error}");
        }
    }
}
