//! Colab as a [`Relay`]: the tools of the connected page, and those that connect one.

use std::sync::Arc;
use std::time::Duration;

use connection::NetworkTimeout;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use workspace::{Answer, Call, Error, ErrorKind, Relay, Secret, Tool};

use crate::bridge::Bridge;
use crate::browser::Browser;
use crate::connect_tool::ConnectTool;
use crate::json_rpc::{Members, Object, quoted};
use crate::listener::Listener;
use crate::page::CallFailure;
use crate::tools::{self, CALL_ANY, CONNECT, READING};

/// The name of the tab's tools as a group.
pub const GROUP: &str = "colab";

/// How many names of tools an error lists.
const MAX_NAMES: usize = 50;

#[derive(Debug, Clone)]
pub struct Settings {
    pub browser: Browser,
    /// How long [`CONNECT`] waits for the person if the call does not say.
    pub connect_timeout: Duration,
    /// How long a call may go without an answer or progress; `None` is forever.
    pub call_timeout: Option<Duration>,
    /// How long the page may be silent.
    pub network_timeout: NetworkTimeout,
}

/// The Colab tab, and the port it connects to.
pub struct Colab {
    bridge: Arc<Bridge>,
    connect_tool: ConnectTool,
    built_in: Vec<Tool>,
    call_timeout: Option<Duration>,
}

/// The built-in tool definitions are invalid, which is a bug in the build.
#[derive(Debug, thiserror::Error)]
#[error("the built-in tool definitions cannot be read: {0}")]
pub struct BadDefinitions(serde_json::Error);

impl Colab {
    /// Accepts tabs that connect to `listener` with `token`. The caller runs the returned future, which serves the tabs;
    /// it completes after `shutdown` is cancelled, when every socket is closed.
    pub fn new(
        listener: Listener,
        token: Secret,
        settings: Settings,
        shutdown: CancellationToken,
    ) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + 'static), BadDefinitions> {
        let bridge = Arc::new(Bridge::new(token, listener.port(), settings.network_timeout));
        let connect_tool = ConnectTool {
            bridge: bridge.clone(),
            browser: settings.browser,
            default_timeout: settings.connect_timeout,
            opening: parking_lot::Mutex::default(),
        };
        let built_in = tools::built_in().map_err(BadDefinitions)?;
        let serving = bridge.clone().serve(listener, shutdown);
        let colab = Self { bridge, connect_tool, built_in, call_timeout: settings.call_timeout };
        Ok((Arc::new(colab), serving))
    }

    async fn forward(&self, tool: &str, params: &RawValue, call: &Call) -> Result<Answer, Error> {
        let Some(page) = self.bridge.page() else {
            return Err(not_connected(tool));
        };
        if let Some(offered) = page.tools()
            && offered.iter().all(|known| known.name != tool)
        {
            let names: Vec<&str> = offered.iter().map(|known| known.name.as_str()).take(MAX_NAMES).collect();
            let more = if offered.len() > MAX_NAMES { ", and more" } else { "" };
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("The connected Colab tab has no tool {tool:?}."),
                format!("Its tools: {}{more}.", names.join(", ")),
            ));
        }
        let answer = page.call(params, call, self.call_timeout).await.map_err(|failure| match failure {
            CallFailure::NotSent => not_connected(tool),
            CallFailure::Disconnected { reason } => Error::new(
                ErrorKind::Disconnected,
                format!(
                    "The Colab tab disconnected before {tool} was answered{}; a cell that it started may still be \
                     running in Colab.",
                    reason.map_or(String::new(), |reason| format!(" ({reason})")),
                ),
                format!("Call {CONNECT} to connect again, then get_cells to see what has changed."),
            ),
            CallFailure::TimedOut => Error::new(
                ErrorKind::Timeout,
                format!(
                    "{tool} timed out: no answer and no progress for {} s. A cell that it started may still be \
                     running in Colab.",
                    self.call_timeout.unwrap_or_default().as_secs_f64()
                ),
                "Call get_cells with includeOutputs to see its outputs so far.",
            ),
        })?;
        let (Answer::Result(body) | Answer::Error(body)) = &answer;
        if body.get().starts_with('{') {
            return Ok(answer);
        }
        Err(Error::new(
            ErrorKind::RemoteFailure,
            format!("The Colab tab answered {tool} with something that is neither a result nor an error."),
            "Call get_cells to see what has changed; if this happens again, the person should reload the tab.",
        ))
    }

    /// Calls the tool that the arguments of [`CALL_ANY`] name.
    async fn call_any(&self, arguments: Option<&RawValue>, call: &Call) -> Result<Answer, Error> {
        let wrong = |cause: &str| {
            let hint =
                format!(r#"Call {CALL_ANY} with {{"name": "<a tool of the tab>", "arguments": {{…}}}}."#);
            Error::new(ErrorKind::InvalidArgument, cause, hint)
        };
        let members =
            arguments.and_then(Members::parse).ok_or_else(|| wrong("The arguments are not an object."))?;
        let name = members
            .string("name")
            .ok_or_else(|| wrong("The argument \"name\" is missing or not a string."))?;
        if name == CONNECT || name == CALL_ANY {
            return Err(wrong(&format!(
                "{name} is a tool of this server, not of the tab; call it directly."
            )));
        }
        let mut params = Object::default();
        params.member("name", &quoted(&name));
        match members.get("arguments").filter(|arguments| arguments.get() != "null") {
            Some(arguments) if Members::parse(arguments).is_some() => {
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
        if let Some(meta) = Members::parse(&call.params).and_then(|members| members.get("_meta")) {
            params.member("_meta", meta.get());
        }
        let params = RawValue::from_string(params.close())
            .map_err(|error| wrong(&format!("The arguments are not JSON: {error}.")))?;
        self.forward(&name, &params, call).await
    }
}

/// The tool that a call of [`CALL_ANY`] names.
fn named_tool(params: &RawValue) -> Option<String> {
    Members::parse(Members::parse(params)?.get("arguments")?)?.string("name")
}

fn not_connected(tool: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{tool} needs a Colab notebook, and no tab is connected."),
        format!("Call {CONNECT} first: it opens Colab in the person's browser and says what to do."),
    )
}

fn raw_object(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok().filter(|raw| Members::parse(raw).is_some())
}

impl Relay for Colab {
    fn instructions(&self) -> String {
        format!(
            "Reads, edits and runs the notebook that a person has open in a Google Colab tab. Call {CONNECT} \
             first; the person has to accept in the browser. Cells are identified by their id, which get_cells \
             and add_code_cell return. If the tab disconnects, call {CONNECT} again."
        )
    }

    fn tools(&self) -> Vec<Tool> {
        let page = self.bridge.page().and_then(|page| page.tools());
        tools::merge(&self.built_in, page.as_deref())
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn reads(&self, tool: &str, params: Option<&RawValue>) -> bool {
        match (tool, params) {
            // The person has to accept in the browser, and nothing runs.
            (CONNECT, _) | (CALL_ANY, None) => true,
            (CALL_ANY, Some(params)) => named_tool(params).is_some_and(|tool| READING.contains(&&*tool)),
            (tool, _) => READING.contains(&tool),
        }
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.bridge.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        async move {
            let arguments = Members::parse(&call.params).and_then(|members| members.get("arguments"));
            match call.name.as_str() {
                CONNECT => self.connect_tool.connect(arguments, &call).await,
                CALL_ANY => self.call_any(arguments, &call).await,
                tool => self.forward(tool, &call.params, &call).await,
            }
        }
        .boxed()
    }
}
