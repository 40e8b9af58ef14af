//! Colab as a [`Relay`]: the tools of the connected page, and those that connect one.

use std::sync::Arc;
use std::time::Duration;

use connection::{NetworkTimeout, Secret};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use notebook::Json;
use place::{ADDED_BY_CLIENTS, Answer, Call, Error, ErrorKind, NextStep, Place, Relay, Tool, is_left_out};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::browser::{Browser, Desktop};
use crate::browser_activity::Attempt;
use crate::listener::Listener;
use crate::place::ColabPlace;
use crate::tab::Tab;
use crate::tabs::Tabs;
use crate::tools::{self, CALL_ANY, CONNECT, READING};

/// The name of the tab's tools as a group.
pub const GROUP: &str = "colab";
/// The number of further tabs that a server can open while it runs. Their tokens are made beforehand, so that the log can hide them.
pub const FURTHER_TABS: usize = 100;

#[derive(Debug, Clone)]
pub struct Settings {
    pub browser: Browser,
    pub desktop: Desktop,
    /// The time for which [`CONNECT`] waits for the person if the call does not say.
    pub connect_timeout: Duration,
    /// The time that a call may take without an answer or progress; `None` is forever.
    pub call_timeout: Option<Duration>,
    /// The maximum silence of the page.
    pub network_timeout: NetworkTimeout,
}

/// The Colab tabs, and the port they connect to.
pub struct Colab {
    tabs: Arc<Tabs>,
    attempts: watch::Receiver<Option<Attempt>>,
    /// Whether agents can open further tabs.
    has_further: bool,
    built_in: Vec<Tool>,
}

impl Colab {
    /// Accepts tabs that connect to `listener`: the first with `token`, further ones with one of `further_tokens` each. The
    /// caller runs the returned future, which serves the tabs;
    /// it completes after `shutdown` is cancelled, when every socket is closed.
    pub fn new(
        listener: Listener,
        token: Secret,
        further_tokens: Vec<Secret>,
        settings: Settings,
        shutdown: CancellationToken,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let bridge = Arc::new(Bridge::new(listener.port(), settings.network_timeout, shutdown));
        let has_further = !further_tokens.is_empty();
        let built_in = tools::built_in(has_further);
        let attempts = bridge.attempts();
        let serving = bridge.clone().serve(listener);
        let tabs = Arc::new(Tabs::new(bridge, token, further_tokens, settings));
        (Arc::new(Self { tabs, attempts, has_further, built_in }), serving)
    }

    /// The end of a browser's last attempt to connect, whichever tab was meant.
    pub fn attempts(&self) -> watch::Receiver<Option<Attempt>> {
        self.attempts.clone()
    }

    /// The tabs as a place, whose notebooks are those that they show.
    pub fn place(&self) -> Arc<dyn Place> {
        ColabPlace::new(self.tabs.clone())
    }

    /// The tabs as a place that only looks: for the person's page.
    pub fn seen(&self) -> Arc<ColabPlace> {
        ColabPlace::for_page(self.tabs.clone())
    }

    fn first(&self) -> &Tab {
        &self.tabs.first().tab
    }

    /// The tab that the arguments of [`CALL_ANY`] name.
    fn named_tab(&self, arguments: &Json) -> Result<Arc<Tab>, Error> {
        let path = arguments.member("notebook").filter(|path| self.has_further && path.as_str() != "null");
        let Some(path) = path else { return Ok(self.tabs.first().tab.clone()) };
        let path = path.text().unwrap_or_default();
        self.tabs.at(&path).map(|notebook| notebook.tab).ok_or_else(|| {
            let cause = format!("{path:?} is not the path of a notebook in a Colab tab.");
            Error::new(ErrorKind::NotFound, cause, NextStep::ListNotebooks)
        })
    }

    /// Calls the tool that the arguments of [`CALL_ANY`] name.
    async fn call_any(
        &self,
        arguments: Option<Json>,
        meta: Option<Json>,
        call: &Call,
    ) -> Result<Answer, Error> {
        let wrong = |cause: &str| {
            let hint =
                format!(r#"Call {CALL_ANY} with {{"name": "<a tool of the tab>", "arguments": {{…}}}}."#);
            Error::new(ErrorKind::InvalidArgument, cause, hint)
        };
        let arguments =
            arguments.filter(Json::is_object).ok_or_else(|| wrong("The arguments are not an object."))?;
        let name =
            name_in(&arguments).ok_or_else(|| wrong("The argument \"name\" is missing or not a string."))?;
        if name == CONNECT || name == CALL_ANY {
            return Err(wrong(&format!(
                "{name} is a tool of this server, not of the tab; call it directly."
            )));
        }
        for (other, _) in arguments.members() {
            let is_known =
                matches!(&*other, "name" | "arguments") || (other == "notebook" && self.has_further);
            if !(is_known || other.starts_with('_') || ADDED_BY_CLIENTS.contains(&&*other)) {
                return Err(wrong(&format!("There is no argument {other:?}.")));
            }
        }
        let mut params = vec![("name".into(), Json::from_value(&name.as_str().into()))];
        // Only what is short can mean nothing; the rest is passed on as it is.
        let is_given = |value: &Json| value.as_str().len() > 16 || !is_left_out(&value.to_value());
        if let Some(value) = arguments.member("arguments").filter(is_given) {
            let object = match value.text() {
                // Some clients send objects as strings.
                Some(text) => Json::parse(text.into_owned().into()).ok(),
                None => Some(value.clone()),
            };
            let object = object.filter(Json::is_object);
            let object = object.ok_or_else(|| wrong("The argument \"arguments\" is not an object."))?;
            params.push(("arguments".into(), object));
        }
        params.extend(meta.map(|meta| ("_meta".into(), meta)));
        let params = RawValue::from_string(Json::object(&params).as_str().to_owned())
            .map_err(|error| wrong(&format!("The arguments are not JSON: {error}.")).with_source(error))?;
        self.named_tab(&arguments)?.forward(&name, &params, call).await
    }
}

/// The tool that the arguments of [`CALL_ANY`] name.
fn name_in(arguments: &Json) -> Option<String> {
    arguments.member("name")?.text().map(String::from)
}

impl Relay for Colab {
    fn instructions(&self) -> String {
        format!(
            "Reads, edits and runs cells of the notebook that a person has open in a Google Colab tab, and returns their outputs. \
             Call {CONNECT} first; the person must accept in the browser.\nCells are identified by their id, which get_cells \
             and add_code_cell return. If the tab disconnects, call {CONNECT} again."
        )
    }

    fn tools(&self) -> Vec<Tool> {
        let page = self.first().connection.page().and_then(|page| page.tools());
        tools::merge(&self.built_in, page.as_deref())
    }

    fn group(&self) -> &'static str {
        GROUP
    }

    fn reads(&self, tool: &str, params: Option<&RawValue>) -> bool {
        match (tool, params) {
            // The person has to accept in the browser, and nothing runs.
            (CONNECT, _) | (CALL_ANY, None) => true,
            (CALL_ANY, Some(params)) => {
                let arguments = Json::from(params.to_owned()).member("arguments");
                arguments.and_then(|it| name_in(&it)).is_some_and(|tool| READING.contains(&&*tool))
            }
            (tool, _) => READING.contains(&tool),
        }
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.first().connection.changes()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        async move {
            let params = Json::from((*call.params).to_owned());
            let arguments = params.member("arguments");
            match call.name.as_str() {
                CONNECT => self.first().connect_tool.connect(arguments.as_ref(), &call).await,
                CALL_ANY => self.call_any(arguments, params.member("_meta"), &call).await,
                tool => self.first().forward(tool, &call.params, &call).await,
            }
        }
        .boxed()
    }
}
