//! The WebSocket opening handshake, as a state machine without sockets or time.
//!
//! Every check is made on the request head, before any frame is read, in the order of Google's `colab-mcp` (on
//! Python's `websockets`): authorization, upgrade, version and key, origin, subprotocol. The status lines are the same
//! as well.
//! <https://www.rfc-editor.org/rfc/rfc6455#section-4.2>

use std::fmt;

use base64::Engine as _;
use connection::Secret;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The origins of the pages that may connect, as browsers send them.
pub(crate) const ORIGINS: [&str; 2] = ["https://colab.research.google.com", "https://colab.google.com"];

const SUBPROTOCOL: &str = "mcp";

/// Follows a tab's token in the line that a person pastes. A page does not say which notebook it shows, but this tells
/// whether it was opened with a URL.
const LINE_SUFFIX: &str = "-line";

/// How a person has connected a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectedBy {
    /// With a URL, which opens its notebook.
    Url,
    /// With a line that was pasted into the notebook that was open.
    Line,
}

/// The line that a person can paste into Colab's dialog.
pub(crate) fn line(token: &str, port: u16) -> String {
    format!("{token}{LINE_SUFFIX}&{port}")
}

/// A browser sends all cookies of `localhost`, so heads can be long, but not longer than this.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// What to do after some bytes arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Wait for more: the head is not complete.
    More,
    /// Write `response` and go on with WebSocket frames of the tab with this index. `rest` is what followed the head.
    Accept { tab: usize, by: ConnectedBy, response: String, rest: Vec<u8> },
    /// Write the response of the refusal and close the connection. `tab` is the index of the tab whose token was given.
    Refuse { tab: Option<usize>, refusal: HandshakeError },
    /// Close the connection without an answer: this is not an HTTP/1.1 GET request.
    Drop,
}

/// The check that the request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HandshakeError {
    MissingAuthorization,
    MalformedAuthorization,
    NotBearer,
    RepeatedAuthorization,
    WrongToken,
    NoUpgrade(&'static str),
    Header { name: &'static str, fault: &'static str },
    ForeignHost,
    Origin(String),
    MissingOrigin,
    MissingSubprotocol,
    ForeignSubprotocol,
}

impl HandshakeError {
    fn status(&self) -> &'static str {
        match self {
            Self::MissingAuthorization => "401 Missing authorization",
            Self::MalformedAuthorization => "400 Invalid header format",
            Self::NotBearer => "400 Invalid authorization header",
            Self::WrongToken => "403 Bad authorization token",
            Self::NoUpgrade(_) => "426 Upgrade Required",
            Self::ForeignHost | Self::Origin(_) | Self::MissingOrigin => "403 Forbidden",
            Self::RepeatedAuthorization
            | Self::Header { .. }
            | Self::MissingSubprotocol
            | Self::ForeignSubprotocol => "400 Bad Request",
        }
    }

    /// The whole HTTP response.
    pub(crate) fn response(&self) -> String {
        let body = format!("Failed to open a WebSocket connection: {self}.\n");
        let upgrade = if matches!(self, Self::NoUpgrade(_)) { "Upgrade: websocket\r\n" } else { "" };
        format!(
            "HTTP/1.1 {}\r\nConnection: close\r\n{upgrade}Content-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.status(),
            body.len(),
        )
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingAuthorization => f.write_str("missing authorization"),
            Self::MalformedAuthorization => f.write_str("invalid Authorization header"),
            Self::NotBearer => f.write_str("invalid authorization scheme; expected Bearer"),
            Self::RepeatedAuthorization => f.write_str("invalid Authorization header: multiple values"),
            Self::WrongToken => f.write_str("bad authorization token"),
            Self::NoUpgrade(fault) => f.write_str(fault),
            Self::Header { name, fault: "missing" } => write!(f, "missing {name} header"),
            Self::Header { name, fault } => write!(f, "invalid {name} header: {fault}"),
            Self::ForeignHost => f.write_str("invalid Host header; expected this machine"),
            Self::Origin(origin) => write!(f, "invalid Origin header: {origin}"),
            Self::MissingOrigin => f.write_str("missing Origin header"),
            Self::MissingSubprotocol => f.write_str("missing subprotocol"),
            Self::ForeignSubprotocol => write!(f, "invalid subprotocol; expected one of {SUBPROTOCOL}"),
        }
    }
}

/// The handshake of one connection.
#[derive(Default)]
pub(crate) struct Handshake {
    head: Vec<u8>,
}

impl Handshake {
    /// Whether nothing has been received yet: a browser that shows its permission prompt.
    pub(crate) fn is_silent(&self) -> bool {
        self.head.is_empty()
    }

    /// Handles received bytes. `tokens` are those of the tabs as they are now. After any step but [`Step::More`], the
    /// handshake is over.
    pub(crate) fn feed(&mut self, bytes: &[u8], tokens: &[&Secret]) -> Step {
        self.head.extend_from_slice(bytes);
        // The first bytes already show a TLS hello or another method.
        if !self.head.iter().zip(b"GET ").all(|(byte, expected)| byte == expected) {
            return Step::Drop;
        }
        if !bytes.contains(&b'\n') {
            return if self.head.len() > MAX_HEAD_BYTES { Step::Drop } else { Step::More };
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&self.head);
        // The first line already shows HTTP/1.0.
        if request.version == Some(0) {
            return Step::Drop;
        }
        match parsed {
            Err(_) => Step::Drop,
            Ok(httparse::Status::Partial) if self.head.len() > MAX_HEAD_BYTES => Step::Drop,
            Ok(httparse::Status::Partial) => Step::More,
            Ok(httparse::Status::Complete(length)) => match check(&request, tokens) {
                Ok((tab, by, response)) => {
                    Step::Accept { tab, by, response, rest: self.head[length..].to_vec() }
                }
                Err((tab, refusal)) => Step::Refuse { tab, refusal },
            },
        }
    }
}

/// The index of the tab, how its page was connected, and the response. A refusal has the index too, if the token was right.
fn check(
    request: &httparse::Request<'_, '_>,
    tokens: &[&Secret],
) -> Result<(usize, ConnectedBy, String), (Option<usize>, HandshakeError)> {
    let headers = Headers(request.headers);
    let (tab, by) = authorize(request.path.unwrap_or_default(), headers, tokens).map_err(|no| (None, no))?;
    let response = upgrade(headers).map_err(|no| (Some(tab), no))?;
    Ok((tab, by, response))
}

/// The response to a request that carried a token.
fn upgrade(headers: Headers<'_>) -> Result<String, HandshakeError> {
    check_upgrade(headers)?;
    let key = websocket_key(headers)?;
    check_host(headers)?;
    check_origin(headers)?;
    check_subprotocol(headers)?;
    Ok(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n",
        derive_accept_key(key.as_bytes()),
    ))
}

/// The index of the token that the request carries, and where the person had it from.
fn authorize(
    path: &str,
    headers: Headers<'_>,
    tokens: &[&Secret],
) -> Result<(usize, ConnectedBy), HandshakeError> {
    // Each comparison takes constant time. How many are made shows only which of the tabs the caller already knows.
    let position = |candidate: &str| tokens.iter().position(|token| token.matches(candidate));
    let tab_of = |candidate: &str| match position(candidate) {
        Some(tab) => Some((tab, ConnectedBy::Url)),
        None => Some((position(candidate.strip_suffix(LINE_SUFFIX)?)?, ConnectedBy::Line)),
    };
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let mut candidates = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "access_token");
    if let Some(tab) = candidates.find_map(|(_, candidate)| tab_of(&candidate)) {
        return Ok(tab);
    }
    let header = match headers.single("Authorization") {
        Err(_) => return Err(HandshakeError::RepeatedAuthorization),
        Ok(None | Some("")) => return Err(HandshakeError::MissingAuthorization),
        Ok(Some(header)) => header,
    };
    let (scheme, candidate) =
        header.split_once(char::is_whitespace).ok_or(HandshakeError::MalformedAuthorization)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(HandshakeError::NotBearer);
    }
    tab_of(candidate.trim_start()).ok_or(HandshakeError::WrongToken)
}

#[derive(Clone, Copy)]
struct Headers<'a>(&'a [httparse::Header<'a>]);

impl<'a> Headers<'a> {
    fn all(self, name: &'static str) -> impl Iterator<Item = &'a str> {
        let named = move |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        // A value that is not UTF-8 is none of the expected values.
        self.0.iter().filter(named).map(|header| str::from_utf8(header.value).unwrap_or("\u{fffd}").trim())
    }

    /// The value of a header that must not be repeated.
    fn single(self, name: &'static str) -> Result<Option<&'a str>, HandshakeError> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(HandshakeError::Header { name, fault: "multiple values" }),
            (value, None) => Ok(value),
        }
    }

    fn lists(self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.all(name).flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
    }
}

fn check_upgrade(headers: Headers<'_>) -> Result<(), HandshakeError> {
    if !headers.lists("Connection").any(|item| item.eq_ignore_ascii_case("upgrade")) {
        return Err(HandshakeError::NoUpgrade("missing Connection: Upgrade header"));
    }
    let mut upgrade = headers.lists("Upgrade");
    match (upgrade.next(), upgrade.next()) {
        (Some(item), None) if item.eq_ignore_ascii_case("websocket") => Ok(()),
        _ => Err(HandshakeError::NoUpgrade("missing Upgrade: websocket header")),
    }
}

fn websocket_key(headers: Headers<'_>) -> Result<&str, HandshakeError> {
    let name = "Sec-WebSocket-Key";
    let key = headers.single(name)?.ok_or(HandshakeError::Header { name, fault: "missing" })?;
    match base64::engine::general_purpose::STANDARD.decode(key) {
        Ok(nonce) if nonce.len() == 16 => {}
        _ => return Err(HandshakeError::Header { name, fault: "expected 16 bytes of base64" }),
    }
    let name = "Sec-WebSocket-Version";
    match headers.single(name)? {
        Some("13") => Ok(key),
        Some(_) => Err(HandshakeError::Header { name, fault: "expected 13" }),
        None => Err(HandshakeError::Header { name, fault: "missing" }),
    }
}

/// Refuses DNS rebinding: a page whose host name resolves to this machine sends that name as the host.
fn check_host(headers: Headers<'_>) -> Result<(), HandshakeError> {
    let name = "Host";
    let host = headers.single(name)?.ok_or(HandshakeError::Header { name, fault: "missing" })?;
    let bare = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|b| b.is_ascii_digit()) => bare,
        _ => host,
    };
    if ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| bare.eq_ignore_ascii_case(local)) {
        Ok(())
    } else {
        Err(HandshakeError::ForeignHost)
    }
}

fn check_origin(headers: Headers<'_>) -> Result<(), HandshakeError> {
    match headers.single("Origin")? {
        None => Err(HandshakeError::MissingOrigin),
        Some(origin) if ORIGINS.contains(&origin) => Ok(()),
        Some(origin) => Err(HandshakeError::Origin(origin.chars().take(100).collect())),
    }
}

fn check_subprotocol(headers: Headers<'_>) -> Result<(), HandshakeError> {
    let mut offered = headers.lists("Sec-WebSocket-Protocol").peekable();
    if offered.peek().is_none() {
        return Err(HandshakeError::MissingSubprotocol);
    }
    if offered.any(|item| item == SUBPROTOCOL) { Ok(()) } else { Err(HandshakeError::ForeignSubprotocol) }
}

#[cfg(test)]
mod tests;
