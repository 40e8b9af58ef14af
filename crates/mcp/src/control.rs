//! `/api`: what operators' scripts ask of a server for Jupyter.
//!
//! Paths and bodies are those of `jupyter-mcp-server`: <https://github.com/datalayer/jupyter-mcp-server>.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, put};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{ConnectScope, Error, ErrorKind, Fault, KernelState, ServerSpec, Token, Workspace};

use crate::next_step::message;

/// The path that needs no token; it tells whether kernels live.
pub(crate) const HEALTH: &str = "/api/healthz";

/// The routes below `/api`.
pub(crate) fn routes(workspace: Arc<Workspace>) -> Router {
    Router::new()
        .route(HEALTH, get(health))
        .route("/api/connect", put(connect))
        .route("/api/stop", delete(stop))
        .with_state(workspace)
}

async fn health(State(workspace): State<Arc<Workspace>>) -> Json<Value> {
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

/// Where documents and kernels are to be found from now on. Names that older clients send are taken too.
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

async fn connect(
    State(workspace): State<Arc<Workspace>>,
    body: axum::body::Bytes,
) -> (StatusCode, Json<Value>) {
    let body: Connect = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return failed(StatusCode::BAD_REQUEST, &format!("The body cannot be read: {error}.")),
    };
    match reconnect(&workspace, body).await {
        Ok(()) => (StatusCode::OK, Json(json!({ "success": true }))),
        Err(error) => failed(status_of(&error), &message(&error)),
    }
}

async fn reconnect(workspace: &Arc<Workspace>, body: Connect) -> Result<(), Error> {
    let provider = said(body.document_provider);
    let token = |text: Option<String>| said(text).and_then(Token::chosen);
    let (documents, kernels) = (said(body.document_url), said(body.code_sandbox_url));
    let (document_token, kernel_token) = (token(body.document_token), token(body.code_sandbox_token));
    // What is for one server goes to no other.
    let wish = match (documents, kernels) {
        (Some(url), Some(other)) if bare(&url) == bare(&other) => {
            ServerSpec { url, token: document_token.or(kernel_token), provider, kernels: None }
        }
        (Some(url), Some(other)) => {
            ServerSpec { url, token: document_token, provider, kernels: Some((other, kernel_token)) }
        }
        (Some(url), None) => ServerSpec { url, token: document_token, provider, kernels: None },
        // The documents are there, too.
        (None, Some(url)) => {
            ServerSpec { url, token: kernel_token.or(document_token), provider, kernels: None }
        }
        (None, None) => {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "Neither document_url nor code_sandbox_url is given.",
                "Give one of them.",
            ));
        }
    };
    workspace.connect(wish, ConnectScope::All).await?;
    let session = workspace::Session::new(workspace.clone());
    if let Some(path) = said(body.document_id) {
        let opened = session.use_notebook("default", &path, workspace::Mode::Connect).await?;
        if let Some(id) = said(body.code_sandbox_id) {
            let wish = workspace::KernelSelector { id: Some(id), name: None };
            session.choose_kernel(&opened, &wish, None).await?;
        }
    }
    Ok(())
}

async fn stop(State(workspace): State<Arc<Workspace>>) -> (StatusCode, Json<Value>) {
    match workspace.stop().await {
        Ok(()) => (StatusCode::OK, Json(json!({ "success": true }))),
        Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &message(&error)),
    }
}

/// An address without what makes no difference.
fn bare(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}

/// What clients send that must send something, and mean nothing, is nothing.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !matches!(text.to_ascii_lowercase().as_str(), "" | "none" | "null"))
}

fn status_of(error: &Error) -> StatusCode {
    if error.fault == Fault::Agent { StatusCode::BAD_REQUEST } else { StatusCode::INTERNAL_SERVER_ERROR }
}

fn failed(status: StatusCode, error: &str) -> (StatusCode, Json<Value>) {
    (status, Json(json!({ "success": false, "error": error })))
}
