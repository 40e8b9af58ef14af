//! The server for the agents of one user, inside another HTTP server.
//!
//! Paths and bodies below `/mcp` are those of `jupyter-mcp-server`'s extension:
//! <https://github.com/datalayer/jupyter-mcp-server>.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use place::{Answer, Call};
use rmcp::model::CallToolResult;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::admin_api::failed;
use super::http::{MAX_BODY, protocol, routed};
pub use super::websocket::SocketSession;
use super::websocket::WebSockets;
use crate::progress::MAX_QUEUED_REPORTS;
use crate::reply::{Reply, failure};
use crate::server::Server;
use crate::session::Session;
use crate::telemetry::{self, is_error};
use crate::tool_call::Caller;
use calls::permissions::Permissions;

/// Answers requests that another server has authorized.
#[derive(Clone)]
pub struct Embedded {
    router: Router,
    sockets: Arc<WebSockets>,
}

impl Embedded {
    /// Serves `server` until `shutdown`.
    pub fn new(server: &Server, shutdown: &CancellationToken) -> Self {
        // Callers without the protocol have no sessions, so they share one.
        let session = Arc::new(server.no_session(shutdown));
        let plain = Router::new()
            .route("/mcp/healthz", get(health))
            .route("/mcp/tools/list", get(list))
            .route("/mcp/tools/call", post(call))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(session);
        let router = protocol(server, shutdown).merge(plain);
        let page = server.page.clone().map(|hub| page::data(page::only(hub)));
        let router = page.map_or(router.clone(), |page| router.merge(page));
        Self { router, sockets: Arc::new(WebSockets::new(server, shutdown)) }
    }

    /// Answers a request at `/mcp` or below it, or one for data of the page, for a user with these permissions. The body of the
    /// answer may be a long stream.
    pub async fn answer(&self, mut request: Request<Bytes>, may: Permissions) -> Response<Body> {
        request.extensions_mut().insert(may);
        routed(self.router.clone(), request.map(Body::from)).await
    }

    /// Starts a session for a WebSocket at `/mcp` that the other server has accepted, for a user with these permissions. `None` if there
    /// are as many as there may be. Call it within the runtime.
    pub fn open_socket(&self, may: Permissions) -> Option<SocketSession> {
        let (mut caller, ()) = Request::new(()).into_parts();
        caller.extensions.insert(may);
        self.sockets.open(Some(caller))
    }

    /// Whether there is a session over WebSocket.
    pub fn has_sockets(&self) -> bool {
        self.sockets.are_used()
    }
}

/// What is in the page for all users, in a server that knows them by its own login.
pub struct PageFiles {
    router: Router,
}

impl Default for PageFiles {
    fn default() -> Self {
        Self { router: page::files(page::Login::Server) }
    }
}

impl PageFiles {
    /// Answers a request if it asks for one of the files.
    pub fn answer(
        &self,
        request: &Request<Bytes>,
    ) -> Option<impl Future<Output = Response<Body>> + Send + use<>> {
        if !page::is_open(request.uri().path()) {
            return None;
        }
        Some(routed(self.router.clone(), request.clone().map(Body::from)))
    }
}

async fn health(State(session): State<Arc<Session>>) -> Json<Value> {
    let runs = session
        .notebooks
        .as_ref()
        .map(|notebooks| notebooks.workspace().journal().runs())
        .unwrap_or_default();
    let metrics = &session.server.metrics;
    let calls = metrics.calls().into_iter();
    Json(json!({
        "status": "healthy",
        "sessions": metrics.sessions(),
        "runs": runs.iter().filter(|run| !run.state().is_over()).count(),
        "tool_calls": calls.map(|(_, calls)| calls.answered + calls.abandoned).sum::<u64>(),
        "extension": "cellbridge",
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

// JSON of others stays text: it may be nested more deeply than a `Value` can be, for which `json!` panics.

#[derive(Serialize)]
struct Listed<'a> {
    tools: Vec<&'a RawValue>,
    count: usize,
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Called {
    success: bool,
    result: Box<RawValue>,
}

async fn list(State(session): State<Arc<Session>>) -> Response<Body> {
    let tools = session.tools(false);
    let tools: Vec<&RawValue> = tools.iter().map(|tool| &*tool.definition).collect();
    Json(Listed { count: tools.len(), tools }).into_response()
}

/// A call without the protocol.
#[derive(Deserialize)]
struct PlainCall<'a> {
    #[serde(borrow, default)]
    tool_name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

async fn call(
    State(session): State<Arc<Session>>,
    Extension(may): Extension<Permissions>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let refused = |cause: &str| failed(StatusCode::BAD_REQUEST, cause).into_response();
    let plain: PlainCall<'_> = match serde_json::from_slice(&body) {
        Ok(plain) => plain,
        Err(error) => return refused(&format!("The body cannot be read: {error}.")),
    };
    if plain.tool_name.is_empty() {
        return refused("tool_name is required");
    }
    let params = to_raw_value(&Params { name: &plain.tool_name, arguments: plain.arguments });
    let Ok(params) = params else { return refused("The body cannot be read.") };
    let (reports, _ignored) = mpsc::channel(MAX_QUEUED_REPORTS);
    let name = plain.tool_name.into_owned();
    let span = telemetry::plain_call_span(&session, &name, &headers);
    let call = Call { name: name.clone(), params: Arc::from(params), reports, wants_progress: false };
    let answer = session.answer(call, Caller::with(may));
    let called = match telemetry::traced(&session, &name, span, answer).await {
        Ok(Reply::Relayed(Answer::Result(result))) => Ok(Called { success: !is_error(&result), result }),
        Ok(Reply::Relayed(Answer::Error(error))) => {
            return failed(StatusCode::OK, error.get()).into_response();
        }
        Ok(Reply::Own(result) | Reply::Ongoing(result)) => Called::of(result),
        Err(error) => Called::of(failure(&error)),
    };
    match called {
        Ok(called) => Json(called).into_response(),
        Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()).into_response(),
    }
}

impl Called {
    /// Without what belongs to an era of the protocol.
    fn of(mut result: CallToolResult) -> serde_json::Result<Self> {
        result.result_type = None;
        Ok(Self { success: result.is_error != Some(true), result: to_raw_value(&result)? })
    }
}
