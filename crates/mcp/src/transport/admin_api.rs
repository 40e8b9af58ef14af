//! `/api`: for the scripts of those who run the server.
//!
//! Paths and bodies are those of `jupyter-mcp-server`: <https://github.com/datalayer/jupyter-mcp-server>.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, put};
use axum::{Json, Router};
use connection::Secret;
use place::{Error, ErrorKind, Fault, KernelState, ServerSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{ConnectScope, Workspace};

use calls::arguments::kernel_selector::kernel_selector;
use calls::next_step::message;
use calls::permissions::{Access, Permissions, Policy};

/// The path that needs no token; it answers whether kernels are alive.
pub(crate) const HEALTH: &str = "/api/healthz";
/// The routes that act, each with the tool that does as much. A route without one is not answered.
const ACTING: [(&str, &str); 2] = [("/api/connect", "connect_to_jupyter"), ("/api/stop", "restart_notebook")];

/// What the routes act on, and whether they may: an agent that knows the token can use them as well.
#[derive(Clone)]
struct Operated {
    workspace: Arc<Workspace>,
    policy: Arc<Policy>,
}

/// The routes below `/api`.
pub(crate) fn routes(workspace: Arc<Workspace>, policy: Arc<Policy>) -> Router {
    let operated = Operated { workspace, policy };
    Router::new()
        .route("/api/connect", put(connect))
        .route("/api/stop", delete(stop))
        .route_layer(from_fn_with_state(operated.clone(), gate))
        .route(HEALTH, get(health))
        .with_state(operated)
}

/// Lets a request pass if the operator offers its route's tool, and wants the person to be asked about nothing: a route cannot ask, and
/// agents that know the token can use it.
async fn gate(State(operated): State<Operated>, request: Request, next: Next) -> Response {
    let route = request.uri().path();
    let Some(tool) =
        ACTING.iter().find(|(acting, _)| *acting == route).and_then(|(_, tool)| tools::find(tool))
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (policy, permissions) = (&*operated.policy, Permissions::default());
    let access = Access { policy, permissions, tool: tool.name };
    let permitted = access.permit_unasked(tool.groups, tool.permission, route);
    match permitted.and_then(|()| access.permit_unless_asking(route)) {
        Ok(()) => next.run(request).await,
        Err(error) => failed(StatusCode::FORBIDDEN, &message(&error)).into_response(),
    }
}

async fn health(State(Operated { workspace, .. }): State<Operated>) -> Json<Value> {
    let kernels: Vec<_> = workspace.open_notebooks().iter().filter_map(|opened| opened.kernel()).collect();
    let is_dead = |state: &KernelState| matches!(state, KernelState::Dead { .. });
    let kernel_status = match kernels.iter().filter(|kernel| is_dead(&kernel.description().state)).count() {
        _ if kernels.is_empty() => "not_initialized",
        dead if dead == kernels.len() => "dead",
        _ => "alive",
    };
    Json(json!({
        "success": true,
        "service": "cellbridge",
        "message": "Cellbridge is running.",
        "status": "healthy",
        "kernel_status": kernel_status,
    }))
}

/// Where documents and kernels are from now on. Older names are accepted, too.
#[derive(Deserialize)]
struct Connect {
    #[serde(alias = "provider", default)]
    document_provider: Option<String>,
    #[serde(default)]
    document_url: Option<String>,
    #[serde(default)]
    document_id: Option<String>,
    #[serde(default)]
    document_token: Option<String>,
    #[serde(alias = "runtime_url", default)]
    code_sandbox_url: Option<String>,
    #[serde(alias = "runtime_id", default)]
    code_sandbox_id: Option<String>,
    #[serde(alias = "runtime_token", default)]
    code_sandbox_token: Option<String>,
}

async fn connect(State(operated): State<Operated>, body: axum::body::Bytes) -> (StatusCode, Json<Value>) {
    let body: Connect = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return failed(StatusCode::BAD_REQUEST, &format!("The body cannot be read: {error}.")),
    };
    match reconnect(&operated.workspace, body).await {
        Ok(()) => (StatusCode::OK, Json(json!({ "success": true }))),
        Err(error) => failed(status_of(&error), &message(&error)),
    }
}

async fn reconnect(workspace: &Arc<Workspace>, body: Connect) -> Result<(), Error> {
    let provider = given(body.document_provider);
    let token = |text: Option<String>| given(text).and_then(Secret::new);
    let (documents, kernels) = (given(body.document_url), given(body.code_sandbox_url));
    let (document_token, kernel_token) = (token(body.document_token), token(body.code_sandbox_token));
    // No token goes to another server than its own.
    let (url, token, kernels) = match (documents, kernels) {
        (Some(url), Some(other)) if bare(&url) != bare(&other) => {
            (url, document_token, Some((other, kernel_token)))
        }
        (Some(url), Some(_)) => (url, document_token.or(kernel_token), None),
        (Some(url), None) => (url, document_token, None),
        // The documents are on the same server.
        (None, Some(url)) => (url, kernel_token.or(document_token), None),
        (None, None) => {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "Neither document_url nor code_sandbox_url is given.",
                "Give one of them.",
            ));
        }
    };
    let server = ServerSpec { url: Some(url), token, provider, kernels };
    workspace.places().connect(server, ConnectScope::All).await?;
    let session = workspace::Session::new(workspace.clone());
    if let Some(path) = given(body.document_id) {
        let opened = session.use_notebook("default", &path.into(), place::Mode::Connect).await?;
        if let Some(id) = given(body.code_sandbox_id) {
            let selector = kernel_selector(&session, Some(&id), None).await?;
            session.choose_kernel(&opened, selector).await?;
        }
    }
    Ok(())
}

async fn stop(State(Operated { workspace, .. }): State<Operated>) -> (StatusCode, Json<Value>) {
    match workspace.stop().await {
        Ok(()) => (StatusCode::OK, Json(json!({ "success": true }))),
        Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &message(&error)),
    }
}

/// An address without spaces and the last slash.
fn bare(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}

/// Some clients send "none" for a value that they leave out.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !matches!(text.to_ascii_lowercase().as_str(), "" | "none" | "null"))
}

fn status_of(error: &Error) -> StatusCode {
    if error.fault == Fault::Agent { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR }
}

pub(super) fn failed(status: StatusCode, error: &str) -> (StatusCode, Json<Value>) {
    (status, Json(json!({ "success": false, "error": error })))
}
