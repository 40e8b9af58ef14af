//! The server's side of a WebSocket's opening handshake (RFC 6455 §4.2).

use base64::Engine as _;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{Method, Request, Version};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::Refusal;

/// The headers that accept a request for a WebSocket. They name the subprotocol if the client offers it; it may offer none at all.
pub fn accept<B>(request: &Request<B>, subprotocol: &'static str) -> Result<HeaderMap, Refusal> {
    let headers = request.headers();
    let is_upgrade = list(headers, CONNECTION).any(|it| it.eq_ignore_ascii_case("upgrade"))
        && list(headers, UPGRADE).map(str::to_ascii_lowercase).eq(["websocket"]);
    if !is_upgrade || request.method() != Method::GET || request.version() != Version::HTTP_11 {
        return Err(Refusal::NoUpgrade);
    }
    if !headers.get_all(SEC_WEBSOCKET_VERSION).iter().eq(["13"]) {
        return Err(Refusal::Handshake("only version 13 of WebSocket is spoken"));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    let is_key = base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16);
    let accepted = HeaderValue::try_from(derive_accept_key(key)).ok().filter(|_| is_key);
    let accepted = accepted.ok_or(Refusal::Handshake("invalid Sec-WebSocket-Key header"))?;
    let mut answer = HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accepted),
    ]);
    let mut offered = list(headers, SEC_WEBSOCKET_PROTOCOL).peekable();
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
            ("sec-websocket-version", &["13", "13"], 400),
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
