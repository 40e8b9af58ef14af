//! MCP over Streamable HTTP, in both eras, at `/mcp`; `/healthz` says that the server is there.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::call::{CallHead, RawParams, refusal};
use crate::guard::Guard;
use crate::hangup::{Hangup, RETRY, Resumptions, Watch};
use crate::raw;
use crate::server::Server;
use crate::sse::Restored;

/// The largest request body taken from an agent.
const LARGEST_BODY: usize = 256 * 1024 * 1024;
/// How long a session of the older era may be idle. An agent may think, or its person sleep, for long.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);
/// How long open connections may take to end at shutdown.
const CLOSING: Duration = Duration::from_secs(2);

/// The listener failed.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP listener failed: {0}")]
pub struct HttpError(#[from] std::io::Error);

/// Serves agents on `listener` until `shutdown`.
pub async fn serve_http(
    server: Server,
    listener: TcpListener,
    guard: Guard,
    shutdown: CancellationToken,
) -> Result<(), HttpError> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    sessions.session_config.sse_retry = Some(RETRY);
    let config = StreamableHttpServerConfig::default()
        // The guard has checked Host and Origin by then, for every path.
        .disable_allowed_hosts()
        // In the 2026-07-28 era, where nothing is sent before the first message anyway: some clients take only
        // small events, and one answer needs no stream.
        .with_json_response(true)
        .with_max_request_body_bytes(LARGEST_BODY)
        .with_sse_retry(Some(RETRY))
        .with_cancellation_token(shutdown.child_token());
    let ended = shutdown.child_token();
    let face = Arc::new(Face { server: server.clone(), guard, resumptions: Resumptions::default() });
    let mcp = StreamableHttpService::new(move || Ok(server.session(&ended)), Arc::new(sessions), config);
    let router = Router::new()
        .route_service("/mcp", mcp)
        .layer(from_fn_with_state(face.clone(), pass_raw))
        .route(
            "/healthz",
            get(|| async { ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#) }),
        )
        .layer(from_fn_with_state(face, check));
    // Without this, small event-stream replies wait 40 ms for the agent's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let stopping = shutdown.clone();
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopping.cancelled_owned());
    tokio::select! {
        served = serving => Ok(served?),
        () = async { shutdown.cancelled().await; tokio::time::sleep(CLOSING).await } => Ok(()),
    }
}

struct Face {
    server: Server,
    guard: Guard,
    resumptions: Resumptions,
}

/// Lets nobody past who may not speak to this server.
async fn check(State(face): State<Arc<Face>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    // A health check tells nothing, so it needs no token.
    let is_open = parts.uri.path() == "/healthz";
    let checked = face.guard.check_source(&parts).and_then(|()| match face.guard.check_token(&mut parts) {
        Err(_) if is_open => Ok(()),
        checked => checked,
    });
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => {
            tracing::warn!(reason = refusal.message().trim_end(), "refused an HTTP request");
            let mut response = (refusal.status(), refusal.message()).into_response();
            if refusal.status() == StatusCode::UNAUTHORIZED {
                let challenge = HeaderValue::from_static("Bearer realm=\"cellbridge\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

/// Carries raw JSON around `rmcp`, and watches the response stream of a call.
async fn pass_raw(State(face): State<Arc<Face>>, mut request: Request, next: Next) -> Response {
    let session = session_of(request.headers());
    if request.method() == Method::GET
        && request.headers().contains_key("last-event-id")
        && let Some(session) = &session
    {
        face.resumptions.resumed(session);
    }
    let mut watch = None;
    if request.method() == Method::POST {
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, LARGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!("Payload Too Large: at most {LARGEST_BODY} bytes\n");
                return (StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
            }
            Err(error) => {
                return (StatusCode::BAD_REQUEST, format!("Bad Request: {error}\n")).into_response();
            }
        };
        let call = match IncomingCall::read(&body) {
            Ok(call) => call,
            Err(answer) => return ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        };
        let shell = call.as_ref().filter(|call| !face.server.has_header_arguments(&call.tool));
        let body = shell.map_or_else(|| Body::from(body.clone()), |call| Body::from(call.shell.clone()));
        request = Request::from_parts(parts, body);
        // The shell is shorter than what was announced.
        request.headers_mut().remove(header::CONTENT_LENGTH);
        if let Some(IncomingCall { params, .. }) = call {
            let hangup = Hangup::default();
            request.extensions_mut().insert(params);
            request.extensions_mut().insert(hangup.clone());
            let session = session.map(|session| (session, face.resumptions.clone()));
            watch = Some(Watch::new(hangup, session));
        }
    }
    let mut response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if kind.starts_with(b"text/event-stream") {
        return response.map(|body| Body::new(Restored::new(body, watch)));
    }
    if kind.starts_with(b"application/json") {
        let (parts, body) = response.into_parts();
        let text = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        let restored = str::from_utf8(&text).ok().and_then(raw::restore);
        response = Response::from_parts(parts, restored.map_or(Body::from(text), Body::from));
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if let Some(watch) = &mut watch {
        watch.finished();
    }
    response
}

/// The session that an agent of the older era names.
fn session_of(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id")?.to_str().ok().map(str::to_owned)
}

/// A tool call in the body of a request.
struct IncomingCall {
    tool: String,
    params: RawParams,
    shell: String,
}

impl IncomingCall {
    /// Reads a body; `None` for any other message. The error is the answer to a call without a name.
    fn read(body: &Bytes) -> Result<Option<Self>, String> {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
            method: &'a str,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else { return Ok(None) };
        if message.method != "tools/call" {
            return Ok(None);
        }
        let id = message.id.get();
        let refused = |reason: &str| refusal(id, ErrorCode::INVALID_PARAMS, reason);
        let params = message.params.ok_or_else(|| refused("tools/call needs params"))?;
        let head = CallHead::read(params).map_err(refused)?;
        Ok(Some(Self {
            shell: head.shell(id),
            tool: head.name.into_owned(),
            params: RawParams(Arc::from(params.to_owned())),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_are_looked_into() {
        let params = |body: &'static str| {
            IncomingCall::read(&Bytes::from_static(body.as_bytes())).map(|call| call.map(|call| call.params))
        };
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1.0}}}"#;
        assert_eq!(params(call).unwrap().unwrap().0.get(), r#"{"name":"x","arguments":{"n":1.0}}"#);
        assert!(params(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap().is_none());
        assert!(params("nonsense").unwrap().is_none());
        let Err(answer) = params(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}"#) else {
            panic!("a call without a name was taken")
        };
        assert!(answer.contains("-32602") && answer.contains(r#""id":"a""#), "{answer}");
    }
}
