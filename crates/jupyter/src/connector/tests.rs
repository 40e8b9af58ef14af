use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse as _;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::testing::serve_router;
use place::Place;

/// A server whose token is `right`.
async fn server() -> (String, AbortOnDropHandle<()>) {
    let router = axum::Router::new().fallback(|request: Request<Body>| async move {
        let shown = request.headers().get("authorization").is_some_and(|shown| shown == "token right");
        if request.uri().path() != "/api" && !shown {
            return (StatusCode::FORBIDDEN, "{\"message\": \"Forbidden\"}").into_response();
        }
        "{\"version\": \"2.0\", \"kernels\": 0}".into_response()
    });
    serve_router(router).await
}

fn spec(url: &str, token: Option<&str>) -> ServerSpec {
    ServerSpec {
        url: Some(url.to_owned()),
        token: token.and_then(Secret::new),
        kernels: None,
        provider: None,
    }
}

async fn connect(connector: &JupyterConnector, spec: ServerSpec) -> Arc<dyn Place> {
    connector.connect(spec).await.unwrap().place
}

#[tokio::test]
async fn the_same_server_is_the_same_place() {
    let (url, _task) = server().await;
    let connector = JupyterConnector::new(Options::default(), None, None, None);
    let Err(error) = connector.connect(spec(&url, Some("wrong"))).await else { panic!("the token is wrong") };
    assert!(error.cause.contains("token"), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    let one = connect(&connector, spec(&url, Some("right"))).await;
    let pasted = format!("{url}lab/tree/x.ipynb?token=right");
    let other = connect(&connector, spec(&pasted, None)).await;
    // Without a token, the known place is used, now and later.
    let third = connect(&connector, spec(&url, None)).await;
    let fourth = connect(&connector, spec(&url, Some("right"))).await;
    for place in [&other, &third, &fourth] {
        assert!(Arc::ptr_eq(&one, place));
    }
    assert_eq!(one.prefix(), url);
}

#[tokio::test]
async fn the_first_place_is_reused_for_its_address() {
    let (url, _task) = server().await;
    let token = Credentials::Token(Secret::new("right").unwrap());
    let first = Jupyter::new(Settings {
        documents: Source::Given { url: url.clone(), credentials: token },
        kernels: None,
        reconnect: None,
        options: Options::default(),
        prefix: String::new(),
        notebook: None,
        kernel: None,
        in_process: None,
        run_logs: None,
        capabilities: Capabilities::default(),
        machine: None,
    });
    let connector = JupyterConnector::new(Options::default(), None, Some(first), None);
    for token in [None, Some("right")] {
        let place = connect(&connector, spec(&url, token)).await;
        assert_eq!((place.prefix(), place.name()), ("", url.clone()));
    }
}

#[tokio::test]
async fn without_an_address_a_running_server_is_used_and_named() {
    let (url, _task) = server().await;
    let (runtime, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nowhere = ServerSpec { url: None, token: None, kernels: None, provider: None };
    let discovery =
        Discovery { runtime: runtime.path().to_owned(), working_directory: root.path().to_owned() };
    let connector = JupyterConnector::new(Options::default(), Some(discovery), None, None);
    let Err(error) = connector.connect(nowhere.clone()).await else { panic!("no server is running") };
    assert_eq!(error.next, NextStep::GiveAddress);

    for (name, url, root) in [
        ("jpserver-1.json", url.as_str(), root.path()),
        // It is newer, and no longer answers.
        ("jpserver-2.json", "http://127.0.0.1:1/", root.path()),
        ("jpserver-3.json", "http://127.0.0.1:2/", std::path::Path::new("/elsewhere")),
    ] {
        let file =
            serde_json::json!({"url": url, "pid": std::process::id(), "token": "right", "root_dir": root});
        std::fs::write(runtime.path().join(name), file.to_string()).unwrap();
    }
    let connected = connector.connect(nowhere).await.unwrap();
    assert_eq!(connected.place.prefix(), url);
    assert_eq!(connected.discovered, Some(Discovered { root: root.path().to_owned(), others: 2 }));
}

#[tokio::test]
async fn without_an_address_and_a_place_to_look_the_address_is_missing() {
    let connector = JupyterConnector::new(Options::default(), None, None, None);
    let spec = ServerSpec { url: None, token: None, kernels: None, provider: None };
    let Err(error) = connector.connect(spec).await else { panic!("there is nothing to connect to") };
    assert_eq!(error.next, NextStep::GiveAddress);
}
