use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse as _;
use tokio::net::TcpListener;

use super::*;

/// A server whose token is `right`.
async fn server() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let router = axum::Router::new().fallback(|request: Request<Body>| async move {
        let shown = request.headers().get("authorization").is_some_and(|shown| shown == "token right");
        if request.uri().path() != "/api" && !shown {
            return (StatusCode::FORBIDDEN, "{\"message\": \"Forbidden\"}").into_response();
        }
        "{\"version\": \"2.0\", \"kernels\": 0}".into_response()
    });
    (url, tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }))
}

fn spec(url: &str, token: Option<&str>) -> ServerSpec {
    ServerSpec { url: url.to_owned(), token: token.and_then(Secret::new), kernels: None, provider: None }
}

#[tokio::test]
async fn the_same_server_is_the_same_place() {
    let (url, task) = server().await;
    let connector = JupyterConnector::new(Options::default(), None);
    let Err(error) = connector.connect(spec(&url, Some("wrong"))).await else { panic!("the token is wrong") };
    assert!(error.cause.contains("token"), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    let one = connector.connect(spec(&url, Some("right"))).await.unwrap();
    let pasted = format!("{url}lab/tree/x.ipynb?token=right");
    let other = connector.connect(spec(&pasted, None)).await.unwrap();
    // Without a token, the known place is used, now and later.
    let third = connector.connect(spec(&url, None)).await.unwrap();
    let fourth = connector.connect(spec(&url, Some("right"))).await.unwrap();
    for place in [&other, &third, &fourth] {
        assert!(Arc::ptr_eq(&one, place));
    }
    assert_eq!(one.prefix(), url);
    task.abort();
}

#[tokio::test]
async fn the_first_place_is_reused_for_its_address() {
    let (url, task) = server().await;
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
        capabilities: Capabilities::default(),
    });
    let connector = JupyterConnector::new(Options::default(), Some(first));
    for token in [None, Some("right")] {
        assert_eq!(connector.connect(spec(&url, token)).await.unwrap().prefix(), "");
    }
    task.abort();
}
