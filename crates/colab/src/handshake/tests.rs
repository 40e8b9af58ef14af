use proptest::prelude::*;

use super::*;

const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// The token of another tab.
const OTHER: &str = "BBBBBBBBBBBBBBBBBBBBBB";

/// Feeds bytes to a handshake at a server with two tabs.
fn feed(handshake: &mut Handshake, bytes: &[u8]) -> Step {
    let [one, other] = [TOKEN, OTHER].map(|token| Secret::new(token).unwrap());
    handshake.feed(bytes, &[&one, &other])
}

/// The first step of a new handshake.
fn first_step(bytes: &[u8]) -> Step {
    feed(&mut Handshake::default(), bytes)
}

/// A valid request, with `change` applied to its lines.
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

/// The status line of the response, or `dropped`, or `more`.
fn answer(request: &str) -> String {
    let response = match first_step(request.as_bytes()) {
        Step::More => return "more".into(),
        Step::Drop => return "dropped".into(),
        Step::Accept { response, .. } => response,
        Step::Refuse { refusal, .. } => refusal.response(),
    };
    response.lines().next().unwrap().trim_start_matches("HTTP/1.1 ").to_owned()
}

#[test]
fn a_valid_request_is_accepted_with_the_key_of_the_rfc() {
    let Step::Accept { tab: 0, by: ConnectedBy::Url, response, rest } =
        first_step(request(|_| {}).as_bytes())
    else {
        panic!("accepted")
    };
    assert!(response.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{response}");
    assert!(response.contains("Sec-WebSocket-Protocol: mcp\r\n"), "{response}");
    assert!(rest.is_empty());
}

#[test]
fn the_token_chooses_the_tab() {
    let tab = |query: &str, header: Option<&str>| {
        let request = request(|lines| {
            lines[0] = format!("GET /{query} HTTP/1.1");
            set(lines, "Authorization", header);
        });
        match first_step(request.as_bytes()) {
            Step::Accept { tab, by, .. } => Some((tab, by)),
            _ => None,
        }
    };
    let by_url = |tab| Some((tab, ConnectedBy::Url));
    let query = |token: &str| format!("?access_token={token}");
    let bearer = format!("Bearer {OTHER}");
    assert_eq!(tab(&query(TOKEN), None), by_url(0));
    assert_eq!(tab(&query(OTHER), None), by_url(1));
    assert_eq!(tab("", Some(&bearer)), by_url(1));
    // The query is looked at first.
    assert_eq!(tab(&query(TOKEN), Some(&bearer)), by_url(0));
    assert_eq!(tab(&query(&format!("{TOKEN}{OTHER}")), None), None);
}

#[test]
fn the_line_of_a_tab_is_told_from_its_url() {
    let accepted = |token: &str| {
        let request = request(|lines| lines[0] = format!("GET /?access_token={token} HTTP/1.1"));
        matches!(first_step(request.as_bytes()), Step::Accept { tab: 1, by: ConnectedBy::Line, .. })
    };
    let line = line(OTHER, 4711);
    let (token, port) = line.split_once('&').unwrap();
    assert!(accepted(token) && port == "4711");
    for wrong in [OTHER, &format!("{token}-line"), &format!("{OTHER}line"), "-line"] {
        assert!(!accepted(wrong), "{wrong}");
    }
}

#[test]
fn a_refusal_names_the_tab_whose_token_was_given() {
    let refused = |token: &str| {
        let request = request(|lines| {
            lines[0] = format!("GET /?access_token={token} HTTP/1.1");
            set(lines, "Origin", Some("https://evil.example"));
        });
        match first_step(request.as_bytes()) {
            Step::Refuse { tab, .. } => tab,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([TOKEN, OTHER, "wrong"].map(refused), [Some(0), Some(1), None]);
}

#[test]
fn the_request_line_and_the_authorization_are_checked() {
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
        (query("?access_token="), None, "401 Missing authorization"),
        (query(&format!("?access_token={TOKEN}A")), None, "401 Missing authorization"),
        (query(&format!("?access_token=A{TOKEN}")), None, "401 Missing authorization"),
        (query(&format!("?access_token={}", &TOKEN[1..])), None, "401 Missing authorization"),
        (query(&format!("?zz=access_token={TOKEN}")), None, "401 Missing authorization"),
        (query(&format!("?zzaccess_token={TOKEN}")), None, "401 Missing authorization"),
        (query(&format!("access_token={TOKEN}")), None, "401 Missing authorization"),
        (query(&format!("#access_token={TOKEN}")), None, "401 Missing authorization"),
        (query(""), Some(""), "401 Missing authorization"),
        (query(""), Some("Basic eDp5"), "400 Invalid authorization header"),
        (query(""), Some("Bearer"), "400 Invalid header format"),
        (query(""), Some(TOKEN), "400 Invalid header format"),
        (query(""), Some("Bearer wrong"), "403 Bad authorization token"),
        (query(""), Some(&format!("{good}A")), "403 Bad authorization token"),
        (query(""), Some(&good[..good.len() - 1]), "403 Bad authorization token"),
        (query("").replace("GET", "POST"), Some(&good), "dropped"),
        (query("").replace("GET", "OPTIONS"), Some(&good), "dropped"),
        (query("").replace("GET", "HEAD"), Some(&good), "dropped"),
        (query("").replace("1.1", "1.0"), Some(&good), "dropped"),
        ("garbage".into(), Some(&good), "dropped"),
    ] {
        assert_eq!(first(&line, header), expected, "{line} {header:?}");
    }
}

#[test]
fn the_other_headers_are_checked() {
    let refused = |name: &str, value: Option<&str>| answer(&request(|lines| set(lines, name, value)));
    for (name, value, expected) in [
        ("Origin", Some("https://colab.google.com"), "101 Switching Protocols"),
        ("Origin", Some("https://colab.research.google.com/"), "403 Forbidden"),
        ("Origin", Some("http://colab.research.google.com"), "403 Forbidden"),
        ("Origin", Some("https://evil.colab.research.google.com"), "403 Forbidden"),
        ("Origin", Some("https://colab.research.google.com.evil.example"), "403 Forbidden"),
        ("Origin", Some("https://colab.research.google.com:444"), "403 Forbidden"),
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
fn the_first_failed_check_decides() {
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
            set(lines, "Authorization", Some("Bearer x"));
            set(lines, "Origin", Some("https://evil.example"));
        }),
        "403 Bad authorization token"
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
fn anything_but_a_get_is_dropped_at_once() {
    for bytes in [&b"\x16\x03\x01"[..], b"P", b"GEX", b"get ", b"\r\nGET "] {
        assert_eq!(first_step(bytes), Step::Drop, "{bytes:?}");
    }
    assert_eq!(first_step(b"GE"), Step::More);
}

#[test]
fn endless_heads_are_dropped() {
    let mut handshake = Handshake::default();
    assert_eq!(feed(&mut handshake, b"GET / HTTP/1.1\r\n"), Step::More);
    assert!(!handshake.is_silent());
    let line = format!("X-Long: {}\r\n", "x".repeat(8000));
    let steps: Vec<Step> = (0..10).map(|_| feed(&mut handshake, line.as_bytes())).collect();
    assert_eq!(steps.last(), Some(&Step::Drop));
    assert_eq!(steps[0], Step::More);
}

#[test]
fn refusals_do_not_contain_the_token() {
    for refusal in
        [HandshakeError::WrongToken, HandshakeError::Origin("null".into()), HandshakeError::NoUpgrade("x")]
    {
        let response = refusal.response();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{response}");
        assert!(!response.contains(TOKEN));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_handled_without_a_panic(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8)
    ) {
        let mut handshake = Handshake::default();
        for chunk in chunks {
            if feed(&mut handshake, &chunk) != Step::More {
                break;
            }
        }
    }

    #[test]
    fn packet_boundaries_do_not_matter(cut in 1usize..200, tail in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = request(|_| {}).into_bytes();
        let cut = cut.min(bytes.len() - 1);
        let whole = bytes.len();
        bytes.extend(&tail);
        let mut split = Handshake::default();
        prop_assert_eq!(feed(&mut split, &bytes[..cut]), Step::More);
        let step = feed(&mut split, &bytes[cut..]);
        let is_accepted = matches!(&step, Step::Accept { rest, .. } if rest == &bytes[whole..]);
        prop_assert!(is_accepted, "{:?}", step);
    }

    #[test]
    fn no_other_token_is_accepted(other in "[A-Za-z0-9_-]{0,30}") {
        prop_assume!(other != TOKEN && other != OTHER);
        let line = format!("GET /?access_token={other} HTTP/1.1");
        let text = request(|lines| lines[0].clone_from(&line));
        prop_assert_eq!(answer(&text), "401 Missing authorization");
    }
}
