//! The routes of the page. Who may use them is checked before, as for all routes of a listener: Host, Origin and token; only the
//! shell and its files, which hold no data, need no token. Here is what a browser adds: where a request comes from.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use place::{Error, ErrorKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::actions::{Action, act};
use crate::hub::Hub;
use crate::stream::{Connect, events};
#[cfg(unix)]
use crate::tabs::TabServer;

/// Where the page is.
pub const PATH: &str = "/view";
const SHELL: &str = include_str!("page/shell.html");
const SCRIPT: &str = concat!(include_str!("page/parts.js"), include_str!("page/page.js"));
const FRAME: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/page.css");

/// What the page may load and run: what this server has, and no script in it. Styles stand in attributes of tables.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
    img-src 'self' data: blob:; media-src data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
/// What a frame may: run what it was given, and reach nothing.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:; form-action 'none'; base-uri 'none'; \
    frame-ancestors 'self'";

/// Whether a path holds no data, so that it needs no token.
pub fn is_open(path: &str) -> bool {
    matches!(path, "/view" | "/view/page.js" | "/view/page.css" | "/view/frame")
}

/// The hubs of a program.
pub trait Hubs: Send + Sync + 'static {
    /// That of the folder that the address of a page names; fails if there is none.
    fn hub(&self, root: &str) -> Result<Arc<Hub>, Error>;

    /// The server whose Colab tabs the address of a page names, if it names any.
    #[cfg(unix)]
    fn tab_server(&self, _root: &str) -> Option<TabServer> {
        None
    }

    /// Lets pages show another place, which the command that opens them describes.
    fn add(&self, _place: Value) -> place::Future<'_, ()> {
        let cause = "This program shows no other places.";
        let refusal = Error::new(ErrorKind::Unsupported, cause, "Run `cellbridge view` with its address.");
        Box::pin(std::future::ready(Err(refusal)))
    }
}

/// A hub for all pages, whatever they name.
pub fn only(hub: Arc<Hub>) -> Arc<dyn Hubs> {
    Arc::new(Only(hub))
}

struct Only(Arc<Hub>);

impl Hubs for Only {
    fn hub(&self, _root: &str) -> Result<Arc<Hub>, Error> {
        Ok(self.0.clone())
    }
}

/// How a person proves to be the one whom the page serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// By the token in the address of the page.
    Token,
    /// By the login of the server in which the page is.
    Server,
}

/// The routes of the page.
pub fn routes(hubs: Arc<dyn Hubs>) -> Router {
    files(Login::Token).merge(data(hubs))
}

/// The routes without data.
pub fn files(login: Login) -> Router {
    let style = [html::STYLE, STYLE].concat();
    let shell = shell(login);
    Router::new()
        .route(PATH, get(|| async move { file("text/html; charset=utf-8", shell.clone(), POLICY) }))
        .route("/view/page.js", get(|| async { file("text/javascript; charset=utf-8", SCRIPT, POLICY) }))
        .route(
            "/view/page.css",
            get(|| async move { file("text/css; charset=utf-8", style.clone(), POLICY) }),
        )
        .route("/view/frame", get(|| async { file("text/html; charset=utf-8", FRAME, FRAME_POLICY) }))
        .layer(from_fn(check))
}

fn shell(login: Login) -> String {
    match login {
        Login::Token => SHELL.to_owned(),
        Login::Server => SHELL.replacen("<html ", "<html data-login=\"server\" ", 1),
    }
}

/// The routes with data.
pub fn data(hubs: Arc<dyn Hubs>) -> Router {
    Router::new()
        .route("/view/events", post(stream))
        .route("/view/act", post(action))
        .route("/view/places", post(add_place))
        .layer(from_fn(check))
        .with_state(hubs)
}

fn file(kind: &'static str, content: impl Into<Body>, policy: &'static str) -> Response {
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, content.into()).into_response()
}

/// Refuses requests that another page has made, and keeps other pages from using answers.
async fn check(request: Request, next: Next) -> Response {
    let is_shell = request.uri().path() == PATH;
    if !is_own(request.headers(), is_shell) {
        tracing::warn!("refused a request for the page that another page sent");
        return (StatusCode::FORBIDDEN, "Forbidden: another page sent this request\n").into_response();
    }
    let mut response = next.run(request).await;
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a request is one of our page, of the person who opens it, or of no browser.
fn is_own(headers: &HeaderMap, is_shell: bool) -> bool {
    let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match value("sec-fetch-site") {
        None | Some("same-origin") => true,
        // A link, the address bar, or the file through which a browser is opened.
        Some(_) => {
            is_shell
                && value("sec-fetch-mode") == Some("navigate")
                && value("sec-fetch-dest") == Some("document")
        }
    }
}

type AllHubs = State<Arc<dyn Hubs>>;

async fn stream(State(hubs): AllHubs, Json(body): Json<Box<RawValue>>) -> Response {
    let connect = match serde_json::from_str::<Connect>(body.get()) {
        Ok(connect) => connect,
        Err(error) => return refused(StatusCode::UNPROCESSABLE_ENTITY, &error),
    };
    #[cfg(unix)]
    if let Some(server) = hubs.tab_server(&connect.root) {
        return server.events(bytes(body)).await;
    }
    match hubs.hub(&connect.root) {
        Ok(hub) => event_stream(Body::from_stream(events(&hub, connect))),
        Err(error) => refused(StatusCode::CONFLICT, &error),
    }
}

pub(crate) fn event_stream(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

#[cfg(unix)]
fn bytes(body: Box<RawValue>) -> bytes::Bytes {
    String::from(Box::<str>::from(body)).into()
}

/// What a person does, in the folder that the page shows.
#[derive(Deserialize)]
struct Act {
    #[serde(default)]
    root: String,
    #[serde(flatten)]
    action: Action,
}

async fn action(State(hubs): AllHubs, Json(body): Json<Box<RawValue>>) -> Response {
    let Act { root, action } = match serde_json::from_str(body.get()) {
        Ok(act) => act,
        Err(error) => return refused(StatusCode::UNPROCESSABLE_ENTITY, &error),
    };
    #[cfg(unix)]
    if let Some(server) = hubs.tab_server(&root) {
        return server.act(bytes(body)).await;
    }
    let acted = match hubs.hub(&root) {
        Ok(hub) => act(&hub, action).await,
        Err(error) => Err(error),
    };
    match acted {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => refused(StatusCode::CONFLICT, &error),
    }
}

async fn add_place(State(hubs): AllHubs, Json(place): Json<Value>) -> Response {
    match hubs.add(place).await {
        Ok(()) => Json(json!({})).into_response(),
        Err(error) => refused(StatusCode::CONFLICT, &error),
    }
}

fn refused(status: StatusCode, error: &dyn std::error::Error) -> Response {
    (status, Json(json!({ "error": error.to_string() }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_the_page_and_the_person_make_requests() {
        let opened = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        for (site, others, is_shell, is_allowed) in [
            (None, &[][..], false, true),
            (Some("same-origin"), &[], false, true),
            (Some("cross-site"), &[], false, false),
            (Some("same-site"), &[], false, false),
            (Some("none"), &[], false, false),
            (Some("none"), &opened, true, true),
            (Some("cross-site"), &opened, true, true),
            (Some("cross-site"), &opened, false, false),
            (Some("cross-site"), &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")], true, false),
            (
                Some("cross-site"),
                &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
                true,
                false,
            ),
        ] {
            let site = site.map(|site| ("sec-fetch-site", site));
            let all: Vec<_> = site.into_iter().chain(others.iter().copied()).collect();
            assert_eq!(is_own(&headers(&all), is_shell), is_allowed, "{all:?}");
        }
    }
    #[test]
    fn the_shell_names_the_login_of_a_server() {
        // Where the script reads it.
        assert_eq!(SHELL.matches("<html ").count(), 1);
        assert!(SCRIPT.contains("document.documentElement.dataset.login === \"server\""));
        assert!(shell(Login::Server).contains("<html data-login=\"server\" lang=\"en\">"));
        assert!(!shell(Login::Token).contains("data-login"));
    }
}
