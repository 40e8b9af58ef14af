//! Servers for tests: each responds with the result of a closure and records its requests.

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, Uri};
use axum::response::Response;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::{Address, Credentials, Options, Secret, Server};

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    /// Method, path and query.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.uri)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// A server on loopback, stopped when dropped.
pub(crate) struct Fake {
    pub(crate) base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _task: AbortOnDropHandle<()>,
}

impl Fake {
    pub(crate) async fn new(answer: impl Fn(&Seen) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let router = axum::Router::new().fallback(move |request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let seen = Seen { method: head.method, uri: head.uri, headers: head.headers, body };
            log.lock().unwrap().push(seen.clone());
            answer(&seen)
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, seen, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }

    /// A client of this server, with the token `hush`. `path` is the rest of its base URL.
    pub(crate) fn client(&self, path: &str) -> Server {
        client(&format!("{}{path}", self.base), Credentials::Token(Secret::new("hush").unwrap()))
    }
}

pub(crate) fn client(base: &str, credentials: Credentials) -> Server {
    let options = Options { agent: "tests/1".to_owned(), ..Options::default() };
    Server::new(&Address::parse(base).unwrap(), credentials, &options).unwrap()
}

pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}
