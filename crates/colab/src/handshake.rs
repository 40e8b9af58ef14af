//! The WebSocket opening handshake, as a state machine without sockets or time.
//!
//! Every check is decided from the request head, before any frame is read, in the order in which the
//! original program (Google's `colab-mcp` on Python's `websockets`) decides them: authorization, upgrade,
//! version and key, origin, subprotocol. Clients see the same status lines.
//! <https://www.rfc-editor.org/rfc/rfc6455#section-4.2>

use std::fmt;

use base64::Engine as _;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use workspace::Token;

/// The pages that may connect, exactly as browsers write their origin.
pub(crate) const ORIGINS: [&str; 2] = ["https://colab.research.google.com", "https://colab.google.com"];

const SUBPROTOCOL: &str = "mcp";

/// A browser sends all cookies of `localhost` along, so heads grow; beyond this it is no browser.
const LONGEST_HEAD: usize = 64 * 1024;
const MOST_HEADERS: usize = 128;

/// What to do after some bytes arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The head is not complete.
    More,
    /// Write `response`; the socket speaks WebSocket from then on. `rest` is what followed the head.
    Accept { response: String, rest: Vec<u8> },
    /// Write the refusal's response and close.
    Refuse(Refusal),
    /// Close without an answer: this is not an HTTP/1.1 GET request.
    Drop,
}

/// The check that a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
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

impl Refusal {
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

impl fmt::Display for Refusal {
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

/// The handshake of one socket.
pub(crate) struct Handshake {
    token: Token,
    head: Vec<u8>,
}

impl Handshake {
    pub(crate) fn new(token: Token) -> Self {
        Self { token, head: Vec::new() }
    }

    /// Whether the other side has sent nothing at all: a browser that waits for its person's permission.
    pub(crate) fn is_silent(&self) -> bool {
        self.head.is_empty()
    }

    /// Takes the bytes that arrived. After anything but [`Step::More`] the handshake is over.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Step {
        self.head.extend_from_slice(bytes);
        // Known from the first bytes: a TLS hello, another method.
        if !self.head.iter().zip(b"GET ").all(|(byte, expected)| byte == expected) {
            return Step::Drop;
        }
        if !bytes.contains(&b'\n') {
            return if self.head.len() > LONGEST_HEAD { Step::Drop } else { Step::More };
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&self.head);
        // Known as soon as the first line is there.
        if request.version == Some(0) {
            return Step::Drop;
        }
        match parsed {
            Err(_) => Step::Drop,
            Ok(httparse::Status::Partial) if self.head.len() > LONGEST_HEAD => Step::Drop,
            Ok(httparse::Status::Partial) => Step::More,
            Ok(httparse::Status::Complete(length)) => match self.judge(&request) {
                Ok(response) => Step::Accept { response, rest: self.head[length..].to_vec() },
                Err(refusal) => Step::Refuse(refusal),
            },
        }
    }

    fn judge(&self, request: &httparse::Request<'_, '_>) -> Result<String, Refusal> {
        let headers = Headers(request.headers);
        self.authorize(request.path.unwrap_or_default(), headers)?;
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

    fn authorize(&self, path: &str, headers: Headers<'_>) -> Result<(), Refusal> {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let mut shown = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "access_token");
        if shown.any(|(_, candidate)| self.token.matches(&candidate)) {
            return Ok(());
        }
        let header = match headers.single("Authorization") {
            Err(_) => return Err(Refusal::RepeatedAuthorization),
            Ok(None | Some("")) => return Err(Refusal::MissingAuthorization),
            Ok(Some(header)) => header,
        };
        let (scheme, candidate) =
            header.split_once(char::is_whitespace).ok_or(Refusal::MalformedAuthorization)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::NotBearer);
        }
        if self.token.matches(candidate.trim_start()) { Ok(()) } else { Err(Refusal::WrongToken) }
    }
}

/// The headers of one request.
#[derive(Clone, Copy)]
struct Headers<'a>(&'a [httparse::Header<'a>]);

impl<'a> Headers<'a> {
    fn all(self, name: &'static str) -> impl Iterator<Item = &'a str> {
        let named = move |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        // A value that is not UTF-8 equals none of the values that are asked for.
        self.0.iter().filter(named).map(|header| str::from_utf8(header.value).unwrap_or("\u{fffd}").trim())
    }

    /// The one value of a header that must not be repeated.
    fn single(self, name: &'static str) -> Result<Option<&'a str>, Refusal> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Refusal::Header { name, fault: "multiple values" }),
            (value, None) => Ok(value),
        }
    }

    fn lists(self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.all(name).flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
    }
}

fn check_upgrade(headers: Headers<'_>) -> Result<(), Refusal> {
    if !headers.lists("Connection").any(|item| item.eq_ignore_ascii_case("upgrade")) {
        return Err(Refusal::NoUpgrade("missing Connection: Upgrade header"));
    }
    let mut upgrade = headers.lists("Upgrade");
    match (upgrade.next(), upgrade.next()) {
        (Some(item), None) if item.eq_ignore_ascii_case("websocket") => Ok(()),
        _ => Err(Refusal::NoUpgrade("missing Upgrade: websocket header")),
    }
}

fn websocket_key(headers: Headers<'_>) -> Result<&str, Refusal> {
    let name = "Sec-WebSocket-Key";
    let key = headers.single(name)?.ok_or(Refusal::Header { name, fault: "missing" })?;
    match base64::engine::general_purpose::STANDARD.decode(key) {
        Ok(nonce) if nonce.len() == 16 => {}
        _ => return Err(Refusal::Header { name, fault: "expected 16 bytes of base64" }),
    }
    let name = "Sec-WebSocket-Version";
    match headers.single(name)? {
        Some("13") => Ok(key),
        Some(_) => Err(Refusal::Header { name, fault: "expected 13" }),
        None => Err(Refusal::Header { name, fault: "missing" }),
    }
}

/// A page that rebinds its own name to this address sends its own name as the host.
fn check_host(headers: Headers<'_>) -> Result<(), Refusal> {
    let name = "Host";
    let host = headers.single(name)?.ok_or(Refusal::Header { name, fault: "missing" })?;
    let bare = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|b| b.is_ascii_digit()) => bare,
        _ => host,
    };
    if ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| bare.eq_ignore_ascii_case(local)) {
        Ok(())
    } else {
        Err(Refusal::ForeignHost)
    }
}

fn check_origin(headers: Headers<'_>) -> Result<(), Refusal> {
    match headers.single("Origin")? {
        None => Err(Refusal::MissingOrigin),
        Some(origin) if ORIGINS.contains(&origin) => Ok(()),
        Some(origin) => Err(Refusal::Origin(origin.chars().take(100).collect())),
    }
}

fn check_subprotocol(headers: Headers<'_>) -> Result<(), Refusal> {
    let mut offered = headers.lists("Sec-WebSocket-Protocol").peekable();
    if offered.peek().is_none() {
        return Err(Refusal::MissingSubprotocol);
    }
    if offered.any(|item| item == SUBPROTOCOL) { Ok(()) } else { Err(Refusal::ForeignSubprotocol) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

    fn handshake() -> Handshake {
        Handshake::new(Token::chosen(TOKEN).unwrap())
    }

    /// A good request, with `change` applied to its lines.
    fn request(change: impl Fn(&mut Vec<String>)) -> String {
        let mut lines = vec![
            format!("GET /?access_token={TOKEN} HTTP/1.1"),
            "Host: localhost:4711".into(),
            "Connection: keep-alive, Upgrade".into(),
            "Upgrade: websocket".into(),
            "Sec-WebSocket-Version: 13".into(),
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==".into(),
            format!("Origin: {}", ORIGINS[0]),
            "Sec-WebSocket-Protocol: mcp".into(),
        ];
        change(&mut lines);
        lines.join("\r\n") + "\r\n\r\n"
    }

    fn set(lines: &mut Vec<String>, name: &str, value: Option<&str>) {
        lines.retain(|line| !line.starts_with(&format!("{name}:")));
        lines.extend(value.map(|value| format!("{name}: {value}")));
    }

    /// The status line of the answer, or `dropped`, or `more`.
    fn answer(request: &str) -> String {
        let response = match handshake().feed(request.as_bytes()) {
            Step::More => return "more".into(),
            Step::Drop => return "dropped".into(),
            Step::Accept { response, .. } => response,
            Step::Refuse(refusal) => refusal.response(),
        };
        response.lines().next().unwrap().trim_start_matches("HTTP/1.1 ").to_owned()
    }

    #[test]
    fn a_good_request_is_accepted_with_the_key_of_the_rfc() {
        let Step::Accept { response, rest } = handshake().feed(request(|_| {}).as_bytes()) else {
            panic!("accepted")
        };
        assert!(response.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{response}");
        assert!(response.contains("Sec-WebSocket-Protocol: mcp\r\n"), "{response}");
        assert!(rest.is_empty());
    }

    #[test]
    fn the_first_line_and_the_authorization() {
        let first = |line: &str, header: Option<&str>| {
            answer(&request(|lines| {
                lines[0] = line.into();
                set(lines, "Authorization", header);
            }))
        };
        let good = format!("Bearer {TOKEN}");
        let query = |query: &str| format!("GET /{query} HTTP/1.1");
        for (line, header, expected) in [
            (query(""), Some(good.as_str()), "101 Switching Protocols"),
            (
                query(""),
                Some(&good.to_lowercase().replace(&TOKEN.to_lowercase(), TOKEN)),
                "101 Switching Protocols",
            ),
            (query("?access_token=wrong"), Some(&good), "101 Switching Protocols"),
            (query(&format!("?a=b&access_token={TOKEN}&c")), None, "101 Switching Protocols"),
            (query("?access_token=%41AAAAAAAAAAAAAAAAAAAAA"), None, "101 Switching Protocols"),
            (query(""), None, "401 Missing authorization"),
            (query("?access_token=wrong"), None, "401 Missing authorization"),
            (query(&format!("?access_token={TOKEN}A")), None, "401 Missing authorization"),
            (query(&format!("?zz=access_token={TOKEN}")), None, "401 Missing authorization"),
            (query(&format!("?zzaccess_token={TOKEN}")), None, "401 Missing authorization"),
            (query(&format!("access_token={TOKEN}")), None, "401 Missing authorization"),
            (query(""), Some(""), "401 Missing authorization"),
            (query(""), Some("Basic eDp5"), "400 Invalid authorization header"),
            (query(""), Some("Bearer"), "400 Invalid header format"),
            (query(""), Some("Bearer wrong"), "403 Bad authorization token"),
            (query(""), Some(&format!("{good}A")), "403 Bad authorization token"),
            (query("").replace("GET", "POST"), Some(&good), "dropped"),
            (query("").replace("GET", "OPTIONS"), Some(&good), "dropped"),
            (query("").replace("1.1", "1.0"), Some(&good), "dropped"),
            ("garbage".into(), Some(&good), "dropped"),
        ] {
            assert_eq!(first(&line, header), expected, "{line} {header:?}");
        }
    }

    #[test]
    fn the_other_headers() {
        let refused = |name: &str, value: Option<&str>| answer(&request(|lines| set(lines, name, value)));
        for (name, value, expected) in [
            ("Origin", Some("https://colab.google.com"), "101 Switching Protocols"),
            ("Origin", Some("https://colab.research.google.com/"), "403 Forbidden"),
            ("Origin", Some("http://colab.research.google.com"), "403 Forbidden"),
            ("Origin", Some("https://evil.colab.research.google.com"), "403 Forbidden"),
            ("Origin", Some("null"), "403 Forbidden"),
            ("Origin", None, "403 Forbidden"),
            ("Sec-WebSocket-Protocol", Some("foo, mcp"), "101 Switching Protocols"),
            ("Sec-WebSocket-Protocol", Some("mcpx"), "400 Bad Request"),
            ("Sec-WebSocket-Protocol", None, "400 Bad Request"),
            ("Sec-WebSocket-Version", Some("12"), "400 Bad Request"),
            ("Sec-WebSocket-Version", None, "400 Bad Request"),
            ("Sec-WebSocket-Key", Some("abc"), "400 Bad Request"),
            ("Sec-WebSocket-Key", None, "400 Bad Request"),
            ("Connection", Some("keep-alive"), "426 Upgrade Required"),
            ("Upgrade", Some("h2c"), "426 Upgrade Required"),
            ("Upgrade", None, "426 Upgrade Required"),
            ("Host", Some("[::1]:4711"), "101 Switching Protocols"),
            ("Host", Some("127.0.0.1"), "101 Switching Protocols"),
            ("Host", Some("evil.example:4711"), "403 Forbidden"),
            ("Host", Some("localhost.evil.example"), "403 Forbidden"),
            ("Host", None, "400 Bad Request"),
        ] {
            assert_eq!(refused(name, value), expected, "{name}: {value:?}");
        }
    }

    #[test]
    fn repeated_headers_are_bad_requests() {
        let twice = |line: String| {
            answer(&request(|lines| {
                lines[0] = if line.starts_with("Auth") { "GET / HTTP/1.1".into() } else { lines[0].clone() };
                lines.retain(|other| other.split(':').next() != line.split(':').next());
                lines.extend([line.clone(), line.clone()]);
            }))
        };
        assert_eq!(twice(format!("Authorization: Bearer {TOKEN}")), "400 Bad Request");
        assert_eq!(twice(format!("Origin: {}", ORIGINS[0])), "400 Bad Request");
        assert_eq!(twice("Host: localhost".into()), "400 Bad Request");
        assert_eq!(twice("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==".into()), "400 Bad Request");
    }

    #[test]
    fn the_first_failed_check_answers() {
        let order = |change: &dyn Fn(&mut Vec<String>)| answer(&request(change));
        let anonymous = |lines: &mut Vec<String>| lines[0] = "GET / HTTP/1.1".into();
        assert_eq!(
            order(&|lines| {
                anonymous(lines);
                set(lines, "Origin", Some("https://evil.example"));
            }),
            "401 Missing authorization"
        );
        assert_eq!(
            order(&|lines| {
                anonymous(lines);
                set(lines, "Upgrade", None);
            }),
            "401 Missing authorization"
        );
        assert_eq!(
            order(&|lines| {
                set(lines, "Upgrade", None);
                set(lines, "Origin", Some("https://evil.example"));
            }),
            "426 Upgrade Required"
        );
        assert_eq!(
            order(&|lines| {
                set(lines, "Origin", Some("https://evil.example"));
                set(lines, "Sec-WebSocket-Protocol", None);
            }),
            "403 Forbidden"
        );
    }

    #[test]
    fn what_cannot_become_a_get_is_dropped_at_once() {
        for bytes in [&b"\x16\x03\x01"[..], b"P", b"GEX", b"get ", b"\r\nGET "] {
            assert_eq!(handshake().feed(bytes), Step::Drop, "{bytes:?}");
        }
        assert_eq!(handshake().feed(b"GE"), Step::More);
    }

    #[test]
    fn endless_heads_are_dropped() {
        let mut handshake = handshake();
        assert_eq!(handshake.feed(b"GET / HTTP/1.1\r\n"), Step::More);
        assert!(!handshake.is_silent());
        let line = format!("X-Long: {}\r\n", "x".repeat(8000));
        let steps: Vec<Step> = (0..10).map(|_| handshake.feed(line.as_bytes())).collect();
        assert_eq!(steps.last(), Some(&Step::Drop));
        assert_eq!(steps[0], Step::More);
    }

    #[test]
    fn refusals_name_the_check_and_nothing_secret() {
        for refusal in [Refusal::WrongToken, Refusal::Origin("null".into()), Refusal::NoUpgrade("x")] {
            let response = refusal.response();
            let (head, body) = response.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{response}");
            assert!(!response.contains(TOKEN));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8)
        ) {
            let mut handshake = handshake();
            for chunk in chunks {
                if handshake.feed(&chunk) != Step::More {
                    break;
                }
            }
        }

        #[test]
        fn where_the_packets_break_does_not_matter(cut in 1usize..200, tail in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = request(|_| {}).into_bytes();
            let cut = cut.min(bytes.len() - 1);
            let whole = bytes.len();
            bytes.extend(&tail);
            let mut split = handshake();
            prop_assert_eq!(split.feed(&bytes[..cut]), Step::More);
            let step = split.feed(&bytes[cut..]);
            let is_accepted = matches!(&step, Step::Accept { rest, .. } if rest == &bytes[whole..]);
            prop_assert!(is_accepted, "{:?}", step);
        }

        #[test]
        fn no_other_token_opens(other in "[A-Za-z0-9_-]{0,30}") {
            prop_assume!(other != TOKEN);
            let line = format!("GET /?access_token={other} HTTP/1.1");
            let text = request(|lines| lines[0].clone_from(&line));
            prop_assert_eq!(answer(&text), "401 Missing authorization");
        }
    }
}
