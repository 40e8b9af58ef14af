//! Inside another HTTP server: calls without the protocol.

use anyhow::Result;
use axum::body::Bytes;
use axum::http::Request;
use calls::permissions::Permissions;
use futures_util::future::{BoxFuture, FutureExt as _};
use http_body_util::BodyExt as _;
use mcp::{Embedded, Server};
use place::{Answer, Call, Error, Relay, Tool};
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A relay whose tool is defined by JSON of any depth, and answers with it.
struct Deep {
    json: Box<RawValue>,
    changes: watch::Sender<u64>,
}

impl Relay for Deep {
    fn instructions(&self) -> String {
        String::new()
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool { name: "deep".to_owned(), definition: Arc::from(self.json.clone()) }]
    }

    fn group(&self) -> &'static str {
        "page"
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn call(&self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        async { Ok(Answer::Result(self.json.clone())) }.boxed()
    }
}

#[tokio::test]
async fn deeply_nested_json_of_others_is_passed_on() -> Result<()> {
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let json = RawValue::from_string(format!(r#"{{"name":"deep","content":{nested}}}"#))?;
    let relay = Arc::new(Deep { json, changes: watch::Sender::new(0) });
    let embedded = Embedded::new(&Server::new(relay), &CancellationToken::new());
    for (method, path, body) in [
        ("GET", "/mcp/tools/list", String::new()),
        ("POST", "/mcp/tools/call", format!(r#"{{"tool_name":"deep","arguments":{{"x":{nested}}}}}"#)),
        ("POST", "/mcp/tools/call", format!(r#"{{"tool_name":"none","arguments":{{"x":{nested}}}}}"#)),
    ] {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let answer = embedded.answer(request.body(Bytes::from(body))?, Permissions::default()).await;
        assert_eq!(answer.status(), 200, "{method} {path}");
        let answer = answer.into_body().collect().await?.to_bytes();
        let answer = String::from_utf8(answer.to_vec())?;
        assert!(answer.contains(&nested) || answer.contains("There is no tool"), "{method} {path}");
    }
    Ok(())
}
