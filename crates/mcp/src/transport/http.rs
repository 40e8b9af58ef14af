//! MCP over Streamable HTTP, in both eras, and over WebSocket, at `/mcp`; `/healthz` answers while the server is up.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use connection::Envelope;
use front_door::{Caller, Door, Limits};
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use hyper::body::Incoming;
use page::Hubs;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::SessionConfig;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::accept::Accepted;
use super::admin_api;
use super::body::{BodyTimeout, Patient};
use super::detached_calls::{CallStream, DetachedCalls, RETRY, StreamWatch};
use super::http_auth::{self, HttpAuth};
use super::session_pool::SessionPool;
use super::sse::Restored;
use super::websocket::WebSockets;
use crate::relayed::call::{CallHead, RawParams, refusal};
use crate::relayed::raw;
use crate::server::Server;

/// The largest request body that is read from an agent, in bytes.
pub(crate) const MAX_BODY: usize = 256 * 1024 * 1024;

/// Serves agents on `listener` until `shutdown`.
pub async fn serve_http(server: Server, listener: TcpListener, auth: HttpAuth, shutdown: CancellationToken) {
    let router = protocol(&server, &shutdown).route(
        "/healthz",
        get(|| async { ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#) }),
    );
    let operated = server.workspace.as_ref().filter(|workspace| workspace.places().can_connect());
    let router = match operated {
        Some(workspace) => router.merge(admin_api::routes(workspace.clone(), server.policy.clone())),
        None => router,
    };
    let router = match server.page {
        Some(hub) => router.merge(page::routes(page::only(hub))),
        None => router,
    };
    serve_checked(router, listener, auth, shutdown).await;
}

/// Serves the page of a person on `listener` until `shutdown`, with the checks that agents' requests get.
pub async fn serve_page(
    hubs: Arc<dyn Hubs>,
    listener: TcpListener,
    auth: HttpAuth,
    shutdown: CancellationToken,
) {
    serve_checked(page::routes(hubs), listener, auth, shutdown).await;
}

async fn serve_checked(router: Router, listener: TcpListener, auth: HttpAuth, shutdown: CancellationToken) {
    let checked = Checked(router.layer(from_fn_with_state(Arc::new(auth), check)));
    front_door::serve(Arc::new(checked), [listener], &shutdown).await;
}

/// A router behind the checks.
struct Checked(Router);

impl Door for Checked {
    const LIMITS: Limits = Limits {
        strangers: 256,
        protected: Duration::ZERO,
        silence: Duration::from_secs(30),
        head: Duration::from_secs(30),
    };
    type Body = Body;

    async fn answer(self: Arc<Self>, request: hyper::Request<Incoming>, caller: Caller) -> Response {
        let mut request = request.map(|body| Body::new(Patient::new(Body::new(body))));
        request.extensions_mut().insert(caller);
        routed(self.0.clone(), request).await
    }
}

/// The answer of a router, which never fails.
pub(super) async fn routed(mut router: Router, request: Request) -> Response {
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The protocol at `/mcp`, in both eras, without checks of who sent a request.
pub(crate) fn protocol(server: &Server, shutdown: &CancellationToken) -> Router {
    let mut session_config = SessionConfig::default();
    session_config.sse_retry = Some(RETRY);
    let sessions = SessionPool::new(session_config, server.session_limits);
    let config = StreamableHttpServerConfig::default()
        // Host and Origin are checked before, for every path.
        .disable_allowed_hosts()
        // For the 2026-07-28 era, which sends nothing before the first message: some clients read only small events, and
        // one answer needs no stream.
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_sse_retry(Some(RETRY))
        .with_cancellation_token(shutdown.child_token());
    let endpoint = Arc::new(Endpoint {
        server: server.clone(),
        sessions: sessions.clone(),
        detached: DetachedCalls::default(),
        sockets: WebSockets::new(server, shutdown),
    });
    let (server, ended) = (server.clone(), shutdown.child_token());
    let mcp = StreamableHttpService::new(move || Ok(server.session(&ended)), sessions, config);
    Router::new()
        .route_service("/mcp", mcp.clone())
        .route_service("/mcp/", mcp)
        .layer(from_fn_with_state(endpoint, pass_raw))
}

struct Endpoint {
    server: Server,
    sessions: Arc<SessionPool>,
    detached: DetachedCalls,
    sockets: WebSockets,
}

/// Refuses requests that may not use this server.
async fn check(State(auth): State<Arc<HttpAuth>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    // A health check reveals nothing, nor does a page without data, so they need no token.
    let path = parts.uri.path();
    let is_open = matches!(path, "/healthz" | admin_api::HEALTH) || page::is_open(path);
    match auth.check(&mut parts, is_open) {
        Ok(()) => {
            if let Some(caller) = parts.extensions.get::<Caller>().filter(|_| !is_open) {
                caller.show();
            }
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => {
            let message = http_auth::message(&refusal);
            tracing::warn!(reason = message.trim_end(), "refused an HTTP request");
            let mut response = (refusal.status(), message).into_response();
            if refusal.status() == StatusCode::UNAUTHORIZED {
                let challenge = HeaderValue::from_static("Bearer realm=\"cellbridge\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

/// Passes the JSON of calls around `rmcp`, and watches their response streams.
async fn pass_raw(State(endpoint): State<Arc<Endpoint>>, mut request: Request, next: Next) -> Response {
    if let Some(response) = endpoint.sockets.answer(&mut request) {
        return response;
    }
    let session = session_of(request.headers()).map(|session| (session, endpoint.detached.clone()));
    let is_resumption = request.method() == Method::GET && request.headers().contains_key("last-event-id");
    let is_delete = request.method() == Method::DELETE;
    let is_json = request.headers().get(header::CONTENT_TYPE).is_some_and(is_json);
    let accepted = Accepted::read(request.headers());
    let method = request.method().clone();
    accepted.rewrite(&method, request.headers_mut());
    let (mut watch, mut kept) = (None, Vec::new());
    if let (true, Some((session, detached))) = (is_resumption, session.clone()) {
        let (resumed, answers) = StreamWatch::resumed(session, detached);
        (watch, kept) = (Some(resumed), answers);
    }
    let mut bad_body = None;
    if request.method() == Method::POST {
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!("Payload Too Large: at most {MAX_BODY} bytes\n");
                return (StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
            }
            Err(error) if has_timed_out(&*error) => {
                return (StatusCode::REQUEST_TIMEOUT, "Request Timeout: the body stalled\n").into_response();
            }
            Err(error) => {
                return (StatusCode::BAD_REQUEST, format!("Bad Request: {error}\n")).into_response();
            }
        };
        bad_body = serde_json::from_slice::<&RawValue>(&body).is_err().then_some(ErrorCode::PARSE_ERROR);
        let call = IncomingCall::read(&body);
        let shell = call.as_ref().filter(|call| !endpoint.server.has_header_arguments(&call.tool));
        let body = shell.map_or_else(|| Body::from(body.clone()), |call| Body::from(call.shell.clone()));
        request = Request::from_parts(parts, body);
        // The shell is shorter than the body.
        request.headers_mut().remove(header::CONTENT_LENGTH);
        if let Some(IncomingCall { params, .. }) = call {
            let stream = CallStream::new(session);
            request.extensions_mut().insert(params);
            request.extensions_mut().insert(stream.clone());
            watch = Some(StreamWatch::Call(stream));
        }
    }
    let mut response = next.run(request).await;
    if response.status() == StatusCode::INTERNAL_SERVER_ERROR && endpoint.sessions.is_full() {
        tracing::warn!("refused an MCP session: all others have requests in progress");
        return too_many_sessions();
    }
    if is_delete && response.status() == StatusCode::ACCEPTED {
        // The session has ended. Some clients take "accepted" for a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if kind.starts_with(b"text/event-stream") {
        let response = response.map(|body| Body::new(Restored::new(body, watch, &kept)));
        return if method == Method::POST { accepted.fit(response).await } else { response };
    }
    if kind.starts_with(b"application/json") {
        let (parts, body) = response.into_parts();
        let text = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        let restored = str::from_utf8(&text).ok().and_then(raw::restore);
        response = Response::from_parts(parts, restored.map_or(Body::from(text), Body::from));
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        // `rmcp` answers a body that it cannot read this way.
        let code = bad_body.unwrap_or(ErrorCode::INVALID_REQUEST);
        let answer = refusal("null", code, "the body is not a JSON-RPC message");
        return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], answer)
            .into_response();
    }
    accepted.fit(response).await
}

pub(super) fn too_many_sessions() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], "too many MCP sessions\n").into_response()
}

/// Whether a body could not be read because nothing more of it came.
fn has_timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<BodyTimeout>() || error.source().is_some_and(has_timed_out)
}

fn is_json(kind: &HeaderValue) -> bool {
    kind.to_str()
        .is_ok_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json"))
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
    /// Reads a body; `None` for any other message.
    fn read(body: &Bytes) -> Option<Self> {
        let message = Envelope::parse(body)?;
        if message.method.as_deref() != Some("tools/call") || !message.is_current() {
            return None;
        }
        let (id, params) = (message.id?, message.params?);
        let head = CallHead::read(params).unwrap_or_else(|_| CallHead::nameless());
        Some(Self {
            shell: head.shell(id.get()),
            tool: head.name.into_owned(),
            params: RawParams(Arc::from(params.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_are_parsed() {
        let read = |body: &'static str| IncomingCall::read(&Bytes::from_static(body.as_bytes()));
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"x","arguments":{"n":1.0}}}"#;
        assert_eq!(read(call).unwrap().params.0.get(), r#"{"name":"x","arguments":{"n":1.0}}"#);
        for other in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#,
            r#"["2.0",5,"tools/call",{"name":"x"}]"#,
            "nonsense",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
        let nameless = read(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}"#).unwrap();
        assert_eq!(nameless.tool, "");
    }
}
