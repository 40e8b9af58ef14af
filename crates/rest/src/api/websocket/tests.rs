use super::*;

/// The example of RFC 6455 §1.3.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn a_response_needs_our_key_and_an_offered_protocol() {
    let accept = ("sec-websocket-accept", ACCEPT);
    let v1 = ("sec-websocket-protocol", "v1");
    assert_eq!(check(&headers(&[accept]), KEY, &["v1"]), Ok(None));
    assert_eq!(check(&headers(&[accept, v1]), KEY, &["v0", "v1"]), Ok(Some("v1".to_owned())));
    assert_eq!(check(&headers(&[accept, ("sec-websocket-protocol", "")]), KEY, &["v1"]), Ok(None));
    assert!(check(&headers(&[accept, v1]), KEY, &[]).is_err());
    assert!(check(&headers(&[accept]), "bm90IG91ciBvd24ga2V5IQ==", &[]).is_err());
    assert!(check(&headers(&[]), KEY, &[]).is_err());
}

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{
    ErrorResponse, Request as FailedRequest, Response as Answered,
};

use crate::testing::{Fake, client, reply};
use crate::{Credentials, Secret};

/// Accepts one WebSocket, sends "hello" right after the handshake, and echoes binary messages. Returns the request.
#[expect(clippy::result_large_err, reason = "the callback's type is tungstenite's")]
async fn echo(listener: TcpListener, protocol: Option<&'static str>) -> FailedRequest {
    let (stream, _) = listener.accept().await.unwrap();
    let mut asked = None;
    let callback = |request: &FailedRequest, mut response: Answered| -> Result<Answered, ErrorResponse> {
        asked = Some(request.clone());
        if let Some(protocol) = protocol {
            response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
        }
        Ok(response)
    };
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let mut socket =
        tokio_tungstenite::accept_hdr_async_with_config(stream, callback, Some(config)).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    while let Some(Ok(message)) = socket.next().await {
        if message.is_binary() {
            socket.send(message).await.unwrap();
        }
    }
    asked.unwrap()
}

async fn listen() -> (TcpListener, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/base/", listener.local_addr().unwrap());
    (listener, client(&base, Credentials::Token(Secret::new("hush").unwrap())))
}

#[tokio::test]
async fn large_messages_arrive_and_the_token_is_in_a_header() {
    let (listener, server) = listen().await;
    let task = tokio::spawn(echo(listener, Some("v1")));
    let path = crate::channels_path("k", "s 1").unwrap();
    let socket = server.websocket(&path, &["v1", "v0"]).await.unwrap();
    assert_eq!(socket.protocol.as_deref(), Some("v1"));
    let mut stream = socket.stream;
    assert_eq!(stream.next().await.unwrap().unwrap(), Message::text("hello"));
    // Larger than tungstenite's default limit of 64 MiB.
    let large = bytes::Bytes::from(vec![7; 65 << 20]);
    stream.send(Message::binary(large.clone())).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap() == Message::binary(large), "the message changed");
    drop(stream);
    let asked = task.await.unwrap();
    assert_eq!(asked.uri(), "/base/api/kernels/k/channels?session_id=s%201");
    assert_eq!(asked.headers()["authorization"], "token hush");
    assert_eq!(asked.headers()["sec-websocket-protocol"], "v1, v0");
}

#[tokio::test]
async fn without_protocols_no_header_is_sent() {
    let (listener, server) = listen().await;
    let task = tokio::spawn(echo(listener, None));
    let socket = server.websocket(crate::EVENTS, &[]).await.unwrap();
    assert_eq!(socket.protocol, None);
    drop(socket);
    assert!(!task.await.unwrap().headers().contains_key("sec-websocket-protocol"));
}

#[tokio::test]
async fn each_refusal_has_its_kind() {
    let table = [
        (403, Kind::Unauthorized),
        (404, Kind::NotFound),
        (424, Kind::Stopped),
        (502, Kind::Unreachable),
        (200, Kind::Unsupported),
        (400, Kind::Unsupported),
        (500, Kind::Server),
    ];
    for (status, kind) in table {
        let fake = Fake::new(move |_| reply(status, &[], "")).await;
        let error = fake.client("").websocket("api/kernels/k/channels", &["v1"]).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status}: {error}");
    }
}

#[tokio::test]
async fn a_response_with_another_key_fails() {
    let headers = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", ACCEPT)];
    let fake = Fake::new(move |_| reply(101, &headers, "")).await;
    let error = fake.client("").websocket("api/x", &[]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Malformed, "{error}");
}
