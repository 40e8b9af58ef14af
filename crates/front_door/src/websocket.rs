//! The server's side of a WebSocket's opening handshake (RFC 6455 §4.2).

use hyper::Request;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::ProtocolError::{
    InvalidSecWebSocketKey, MissingSecWebSocketKey, MissingSecWebSocketVersionHeader,
};
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;

use crate::Refusal;

/// The headers that accept a request for a WebSocket. They name the subprotocol if the client offers it; it may offer none at all.
pub fn accept<B>(request: &Request<B>, subprotocol: &'static str) -> Result<HeaderMap, Refusal> {
    let refused = |error: Error| match error {
        Error::Protocol(MissingSecWebSocketVersionHeader) => {
            Refusal::Handshake("only version 13 of WebSocket is spoken")
        }
        Error::Protocol(MissingSecWebSocketKey | InvalidSecWebSocketKey) => {
            Refusal::Handshake("invalid Sec-WebSocket-Key header")
        }
        _ => Refusal::NoUpgrade,
    };
    let accepted = create_response_with_body(request, || ()).map_err(refused)?;
    let mut answer = accepted.into_parts().0.headers;
    let mut offered = list(request.headers(), SEC_WEBSOCKET_PROTOCOL).peekable();
    if offered.peek().is_none() {
        return Ok(answer);
    }
    if !offered.any(|it| it == subprotocol) {
        return Err(Refusal::Handshake("the subprotocol of MCP is `mcp`"));
    }
    answer.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(subprotocol));
    Ok(answer)
}

/// The items of a header that is a list.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use hyper::header::SEC_WEBSOCKET_ACCEPT;

    use super::*;

    /// A valid request, with other values of one header.
    fn answer(name: &str, values: &[&str]) -> Result<HeaderMap, Refusal> {
        let mut request = Request::new(());
        for (name, value) in [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", "mcp"),
        ] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().remove(&name);
        for value in values {
            request.headers_mut().append(&name, value.parse().unwrap());
        }
        accept(&request, "mcp")
    }

    #[test]
    fn a_valid_request_is_accepted_with_the_key_of_the_rfc() {
        let answer = answer("x", &[]).unwrap();
        assert_eq!(answer[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(answer[SEC_WEBSOCKET_PROTOCOL], "mcp");
    }

    #[test]
    fn each_header_is_checked() {
        for (name, values, status) in [
            ("sec-websocket-protocol", &["foo, mcp"][..], 101),
            ("sec-websocket-protocol", &["foo", "mcp"], 101),
            ("sec-websocket-protocol", &["mcpx"], 400),
            ("sec-websocket-protocol", &[], 101),
            ("sec-websocket-version", &["12"], 400),
            ("sec-websocket-version", &[], 400),
            ("sec-websocket-key", &["abc"], 400),
            ("sec-websocket-key", &[], 400),
            ("connection", &["keep-alive"], 426),
            ("upgrade", &["h2c"], 426),
            ("upgrade", &["WebSocket"], 101),
            ("upgrade", &["websocket, h2c"], 426),
            ("upgrade", &[], 426),
        ] {
            let seen = answer(name, values).err().map_or(101, |refusal| refusal.status().as_u16());
            assert_eq!(seen, status, "{name}: {values:?}");
        }
    }
}
