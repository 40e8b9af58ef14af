//! The face towards the agents of one user, inside somebody else's HTTP server.
//!
//! Paths and bodies beside `/mcp` are those of `jupyter-mcp-server`'s extension:
//! <https://github.com/datalayer/jupyter-mcp-server>.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;
use workspace::{Answer, Call};

use crate::http::{LARGEST_BODY, protocol};
use crate::next_step::message;
use crate::permissions::Permissions;
use crate::reports::WAITING_REPORTS;
use crate::server::{Server, Session};
use crate::tool_call::Asking;
use crate::trace;

/// Answers requests that somebody else has let in.
#[derive(Clone)]
pub struct Embedded {
    router: Router,
}

impl Embedded {
    /// Serves `server` until `shutdown`.
    pub fn new(server: &Server, shutdown: &CancellationToken) -> Self {
        // Calls without the protocol share a session: whoever makes them has none.
        let session = Arc::new(server.no_session(shutdown));
        let plain = Router::new()
            .route("/mcp/healthz", get(health))
            .route("/mcp/tools/list", get(list))
            .route("/mcp/tools/call", post(call))
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .with_state(session);
        Self { router: protocol(server, shutdown).merge(plain) }
    }

    /// Answers a request at `/mcp` or below it, for a user who may do this much. The body of the answer may be a stream
    /// that lasts.
    pub async fn answer(&self, mut request: Request<Bytes>, may: Permissions) -> Response<Body> {
        request.extensions_mut().insert(may);
        match self.router.clone().call(request.map(Body::from)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

async fn health(State(session): State<Arc<Session>>) -> Json<Value> {
    let runs = session.desk.as_ref().map(|desk| desk.workspace().journal().runs()).unwrap_or_default();
    let metrics = session.counted.metrics();
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

async fn list(State(session): State<Arc<Session>>) -> Json<Value> {
    let tools = session.tools();
    let tools: Vec<&RawValue> = tools.iter().map(|tool| &*tool.definition).collect();
    Json(json!({ "tools": tools, "count": tools.len() }))
}

/// A call without the protocol around it.
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
) -> (StatusCode, Json<Value>) {
    let plain: PlainCall<'_> = match serde_json::from_slice(&body) {
        Ok(plain) => plain,
        Err(error) => return failed(StatusCode::BAD_REQUEST, &format!("The body cannot be read: {error}.")),
    };
    if plain.tool_name.is_empty() {
        return failed(StatusCode::BAD_REQUEST, "tool_name is required");
    }
    let params = to_raw_value(&json!({ "name": plain.tool_name, "arguments": plain.arguments }));
    let Ok(params) = params else { return failed(StatusCode::BAD_REQUEST, "The body cannot be read.") };
    let (reports, _nobody_listens) = mpsc::channel(WAITING_REPORTS);
    let name = plain.tool_name.into_owned();
    let span = trace::of_plain(&session, &name, &headers);
    let call = Call { name, params: Arc::from(params), reports, wants_progress: false };
    match trace::traced(span, session.answer(call, Asking::with(may))).await {
        Ok(Answer::Result(result)) => {
            #[derive(Deserialize)]
            #[serde(rename_all = "camelCase")]
            struct Head {
                #[serde(default)]
                is_error: bool,
            }
            let is_error = serde_json::from_str::<Head>(result.get()).is_ok_and(|head| head.is_error);
            (StatusCode::OK, Json(json!({ "success": !is_error, "result": result })))
        }
        Ok(Answer::Error(error)) => failed(StatusCode::OK, error.get()),
        Err(error) => {
            let content = json!([{ "type": "text", "text": message(&error) }]);
            let result = json!({ "content": content, "isError": true });
            (StatusCode::OK, Json(json!({ "success": false, "result": result })))
        }
    }
}

fn failed(status: StatusCode, error: &str) -> (StatusCode, Json<Value>) {
    (status, Json(json!({ "success": false, "error": error })))
}
