//! Colab as a place: the tools of the connected page, and those that bring one here.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use workspace::{Answer, Call, Error, ErrorKind, Relay, Token, Tool};

use crate::bridge::Bridge;
use crate::browser::Browser;
use crate::connect::Connector;
use crate::envelope::{Members, Object, quoted};
use crate::listener::Listener;
use crate::page::NoAnswer;
use crate::tools::{self, CALL_ANY, CONNECT};

/// The names of tools that an error message holds at most.
const MOST_NAMES: usize = 50;

/// What can be set about the bridge.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How pages are opened.
    pub browser: Browser,
    /// How long [`CONNECT`] waits for the person where the call does not say.
    pub connect_patience: Duration,
    /// How long a call may go without an answer or progress; `None` is for ever.
    pub call_silence: Option<Duration>,
}

/// The Colab tab as a place.
pub struct Colab {
    bridge: Arc<Bridge>,
    connector: Connector,
    built_in: Vec<Tool>,
    call_silence: Option<Duration>,
}

/// The built-in tool definitions are not what they should be: a fault of the build.
#[derive(Debug, thiserror::Error)]
#[error("the built-in tool definitions cannot be read: {0}")]
pub struct BadDefinitions(serde_json::Error);

impl Colab {
    /// Makes the place for tabs that connect to `listener` and show `token`. The future receives the tabs; it
    /// ends, with every socket closed, after `shutdown` is cancelled.
    pub fn new(
        listener: Listener,
        token: Token,
        settings: Settings,
        shutdown: CancellationToken,
    ) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + 'static), BadDefinitions> {
        let bridge = Arc::new(Bridge::new(token, listener.port()));
        let connector = Connector {
            bridge: bridge.clone(),
            browser: settings.browser,
            patience: settings.connect_patience,
            opening: Mutex::new(None),
        };
        let built_in = tools::built_in().map_err(BadDefinitions)?;
        let serving = bridge.clone().serve(listener, shutdown);
        let colab = Self { bridge, connector, built_in, call_silence: settings.call_silence };
        Ok((Arc::new(colab), serving))
    }

    async fn forward(&self, tool: &str, params: &RawValue, call: &Call) -> Result<Answer, Error> {
        let Some(page) = self.bridge.page() else {
            return Err(not_connected(tool));
        };
        if let Some(offered) = page.tools()
            && offered.iter().all(|known| known.name != tool)
        {
            let names: Vec<&str> = offered.iter().map(|known| known.name.as_str()).take(MOST_NAMES).collect();
            let more = if offered.len() > MOST_NAMES { ", and more" } else { "" };
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("The connected Colab tab offers no tool {tool:?}."),
                format!("It offers: {}{more}.", names.join(", ")),
            ));
        }
        let answer = page.call(params, call, self.call_silence).await.map_err(|reason| match reason {
            NoAnswer::NotAsked => not_connected(tool),
            NoAnswer::PageLeft(why) => Error::new(
                ErrorKind::Disconnected,
                format!(
                    "The Colab tab disconnected before {tool} was answered{}; a cell that it started may still be \
                     running in Colab.",
                    why.map_or(String::new(), |why| format!(" ({why})")),
                ),
                format!("Call {CONNECT} to connect again, then get_cells to see what was done."),
            ),
            NoAnswer::TimedOut => Error::new(
                ErrorKind::Timeout,
                format!(
                    "{tool} was given up: no answer and no progress for {} s (--call-timeout). A cell that it \
                     started may still be running in Colab.",
                    self.call_silence.unwrap_or_default().as_secs_f64()
                ),
                "Call get_cells with includeOutputs to see how far it has come.",
            ),
        })?;
        let (Answer::Result(body) | Answer::Error(body)) = &answer;
        if body.get().starts_with('{') {
            return Ok(answer);
        }
        Err(Error::new(
            ErrorKind::RemoteFailure,
            format!("The Colab tab answered {tool} with something that is neither a result nor an error."),
            "Call get_cells to see what was done; if it happens again, the person should reload the tab.",
        ))
    }

    /// Unpacks [`CALL_ANY`]: what it names becomes the call.
    async fn call_any(&self, arguments: Option<&RawValue>, call: &Call) -> Result<Answer, Error> {
        let wrong = |cause: &str| {
            let hint =
                format!(r#"Call {CALL_ANY} with {{"name": "<a tool of the tab>", "arguments": {{…}}}}."#);
            Error::new(ErrorKind::InvalidArgument, cause, hint)
        };
        let members =
            arguments.and_then(Members::of).ok_or_else(|| wrong("The arguments are not an object."))?;
        let name = members.get("name").and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let name = name.ok_or_else(|| wrong("The argument \"name\" is missing or no string."))?;
        if name == CONNECT || name == CALL_ANY {
            return Err(wrong(&format!(
                "{name} is a tool of this server, not of the tab; call it directly."
            )));
        }
        let mut params = Object::default();
        params.member("name", &quoted(&name));
        match members.get("arguments").filter(|arguments| arguments.get() != "null") {
            Some(arguments) if Members::of(arguments).is_some() => {
                params.member("arguments", arguments.get());
            }
            // Some clients send objects as strings.
            Some(text) => match serde_json::from_str::<String>(text.get()).ok().and_then(raw_object) {
                Some(arguments) => {
                    params.member("arguments", arguments.get());
                }
                None => return Err(wrong("The argument \"arguments\" is not an object.")),
            },
            None => {}
        }
        if let Some(meta) = Members::of(&call.params).and_then(|members| members.get("_meta")) {
            params.member("_meta", meta.get());
        }
        let params = RawValue::from_string(params.close())
            .map_err(|error| wrong(&format!("The arguments are not JSON: {error}.")))?;
        self.forward(&name, &params, call).await
    }
}

fn not_connected(tool: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{tool} needs a Colab notebook, and no tab is connected."),
        format!("Call {CONNECT} first: it opens Colab in the person's browser and says what is missing."),
    )
}

fn raw_object(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok().filter(|raw| Members::of(raw).is_some())
}

impl Relay for Colab {
    fn instructions(&self) -> String {
        format!(
            "Reads, edits and runs the notebook that a person has open in a Google Colab tab. Call {CONNECT} \
             first; the person has to accept in the browser. Cells are named by their id, which get_cells tells \
             and add_code_cell answers. If the tab disconnects, call {CONNECT} again."
        )
    }

    fn tools(&self) -> Vec<Tool> {
        let page = self.bridge.page().and_then(|page| page.tools());
        tools::merge(&self.built_in, page.as_deref())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.bridge.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        async move {
            let arguments = Members::of(&call.params).and_then(|members| members.get("arguments"));
            match call.name.as_str() {
                CONNECT => self.connector.connect(arguments, &call).await,
                CALL_ANY => self.call_any(arguments, &call).await,
                tool => self.forward(tool, &call.params, &call).await,
            }
        }
        .boxed()
    }
}
