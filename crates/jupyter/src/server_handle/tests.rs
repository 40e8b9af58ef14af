use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::testing::serve_router;

/// A Hub with the server of `ada`, which is stopped until it is started; the proxy notices two requests later.
async fn hub() -> (String, AbortOnDropHandle<()>) {
    let started = std::sync::Arc::new(AtomicUsize::new(0));
    let router = axum::Router::new().fallback(move |request: Request<axum::body::Body>| async move {
        answer(request.method(), request.uri().path(), &started)
    });
    let (url, task) = serve_router(router).await;
    (format!("{url}user/ada/"), task)
}

fn answer(method: &Method, path: &str, started: &AtomicUsize) -> Response {
    if *method == Method::POST && path == "/hub/api/users/ada/server" {
        started.store(1, Ordering::Relaxed);
        return StatusCode::ACCEPTED.into_response();
    }
    if path.ends_with("/progress") {
        return "data: {\"progress\": 50, \"message\": \"halfway\"}\n\ndata: {\"progress\": 100, \"message\": \"up\", \"ready\": true}\n\n".into_response();
    }
    let seen = started.load(Ordering::Relaxed);
    if seen > 0 {
        started.store(seen + 1, Ordering::Relaxed);
    }
    if seen > 2 {
        return ([("content-type", "application/json")], "[]").into_response();
    }
    (StatusCode::FAILED_DEPENDENCY, "{\"message\": \"ada is not running\"}").into_response()
}

#[tokio::test]
async fn a_stopped_server_is_started_and_the_call_continues() {
    let (url, _hub) = hub().await;
    let source = Source::Given { url, credentials: Credentials::Token(rest::Secret::new("t").unwrap()) };
    let handle = ServerHandle::new(source, Options::default());
    let mut lines = Vec::new();
    let call = handle.call(|server| async move { server.kernels().await });
    let kernels = place::progress::follow(call, |line| lines.push(line)).await;
    assert_eq!(kernels.unwrap().len(), 0);
    assert!(lines[0].ends_with("is stopped; its Hub starts it"), "{lines:?}");
    assert_eq!(lines[1], "starting the server: 50 %: halfway");
}

#[tokio::test]
async fn an_invalid_address_is_an_error_of_each_call() {
    let source = Source::Given { url: "ftp://host/".to_owned(), credentials: Credentials::None };
    let handle = ServerHandle::new(source, Options::default());
    for _ in 0..2 {
        let error = handle.call(|server| async move { server.kernels().await }).await.unwrap_err();
        assert!(error.cause.contains("ftp"), "{error}");
    }
    assert!(handle.title().contains("invalid address"));
}

#[tokio::test]
async fn each_call_searches_for_a_server_until_one_is_found() {
    let runtime = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let discovery = rest::discovery::Discovery {
        runtime: runtime.path().to_owned(),
        working_directory: root.path().to_owned(),
    };
    let handle = ServerHandle::new(Source::Discover(discovery), Options::default());
    let look = || handle.call(|server| async move { Ok(server.base().to_string()) });
    assert!(look().await.unwrap_err().cause.starts_with("No Jupyter server"));
    let router = axum::Router::new().fallback(|| async { "{\"version\": \"2\", \"kernels\": 0}" });
    let (url, _task) = serve_router(router).await;
    assert_eq!((handle.base(), handle.discovered()), (None, None));
    let write = |name: &str, url: &str, root: &std::path::Path| {
        let file =
            serde_json::json!({"url": url, "pid": std::process::id(), "token": "secret", "root_dir": root});
        std::fs::write(runtime.path().join(name), file.to_string()).unwrap();
    };
    write("jpserver-1.json", &url, root.path());
    write("jpserver-2.json", "http://127.0.0.1:1/", std::path::Path::new("/elsewhere"));
    assert_eq!(look().await.unwrap(), url);
    assert_eq!(handle.base(), Some(url));
    assert_eq!(handle.discovered(), Some(Discovered { root: root.path().to_owned(), others: 1 }));
    assert!(!handle.title().contains("secret"));
}

#[test]
fn the_token_is_separated_from_the_address() {
    let source = Source::Given {
        url: "localhost:8888/lab/tree/a/x.ipynb?token=t".to_owned(),
        credentials: Credentials::None,
    };
    assert!(!format!("{source:?}").contains("token=t"));
    let handle = ServerHandle::new(source, Options::default());
    assert_eq!(handle.address(), Some(("http://localhost:8888/".to_owned(), rest::Secret::new("t"))));
    assert_eq!(handle.notebook().as_deref(), Some("a/x.ipynb"));
    assert_eq!(handle.title(), "the Jupyter server at http://localhost:8888/");
}
