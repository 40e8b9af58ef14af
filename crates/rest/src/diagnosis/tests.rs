use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::message::MAX_MESSAGE;
use super::*;
use crate::Secret;
use crate::testing::client;

fn token() -> Credentials {
    Credentials::Token(Secret::new("hush").unwrap())
}

fn explain(
    base: &str,
    credentials: &Credentials,
    status: u16,
    location: Option<&str>,
    body: &str,
) -> RestError {
    let base = Url::parse(base).unwrap();
    let (subject, body) = ("\"x.ipynb\"", body.as_bytes());
    let status = StatusCode::from_u16(status).unwrap();
    of_response(&FailedRequest { base: &base, credentials, subject, status, location, body })
}

const PLAIN: &str = "http://h:1/base/";
const HUB: &str = "https://h.org/user/ada/";

#[test]
fn each_status_has_a_kind_a_cause_and_a_next_step() {
    let forbidden = r#"{"message": "Forbidden", "reason": null}"#;
    let full = r#"{"message": "Unexpected error while saving file: x.ipynb [Errno 28] No space left on device", "reason": null}"#;
    let masked = r#"{"message": "Unexpected error while saving file: a/x [Errno 2] No such file or directory: '/r/a/.~x' -> '/r/a/x'"}"#;
    let no_kernel = r#"{"message": "The 'nope' kernel is not available. Please pick another suitable kernel instead, or install that kernel."}"#;
    let table = [
        (Credentials::None, 403, forbidden, Kind::Unauthorized, "requires a token", "token"),
        (token(), 403, forbidden, Kind::Unauthorized, "does not accept the token", "jupyter server list"),
        (
            Credentials::Password(Secret::new("hush").unwrap()),
            403,
            forbidden,
            Kind::Unauthorized,
            "password",
            "Correct the password",
        ),
        (
            Credentials::None,
            403,
            r#"{"message": "'_xsrf' argument missing from POST"}"#,
            Kind::Unauthorized,
            "_xsrf",
            "token",
        ),
        (
            token(),
            403,
            r#"{"message": "Permission denied: x.ipynb", "reason": null}"#,
            Kind::Forbidden,
            "is not allowed to read or write \"x.ipynb\": Permission denied: x.ipynb",
            "not the cause",
        ),
        (token(), 401, "", Kind::Unauthorized, "does not accept the token", "token"),
        (token(), 404, "<html>", Kind::NotFound, "has no \"x.ipynb\"", "base URL"),
        (
            token(),
            409,
            r#"{"message": "File already exists: x.ipynb"}"#,
            Kind::Conflict,
            "already exists",
            "another name",
        ),
        (token(), 413, "", Kind::TooLarge, "this size", "limit"),
        (token(), 424, "{}", Kind::Stopped, "not running", "Start it"),
        (token(), 400, r#"{"message": "bad", "reason": "type"}"#, Kind::Refused, "bad type", "Correct"),
        (
            token(),
            400,
            r#"{"message": "/srv/x.ipynb is not UTF-8 encoded", "reason": "bad format"}"#,
            Kind::Refused,
            "UTF-16",
            "iconv",
        ),
        (token(), 405, "", Kind::Unsupported, "cannot", "Update"),
        (token(), 500, full, Kind::Server, "disk seems to be full", "Free space"),
        (token(), 500, masked, Kind::Server, "disk seems to be full", "Free space"),
        (token(), 500, "<html>oops", Kind::Server, "failed on \"x.ipynb\" (status 500)", "log"),
        (
            token(),
            500,
            r#"{"message": "x [Errno 2] No such file or directory: 'a/x'"}"#,
            Kind::NotFound,
            "no folder",
            "folder",
        ),
        (token(), 501, no_kernel, Kind::NotFound, "'nope' kernel", "the server's kernels"),
        (token(), 502, "<html>", Kind::Unreachable, "proxy", "tries again"),
        (token(), 503, "<html>", Kind::Unreachable, "proxy", "tries again"),
        (token(), 200, "<html>", Kind::NotJupyter, "not as a Jupyter server", "base URL"),
    ];
    for (credentials, status, body, kind, cause, hint) in table {
        let error = explain(PLAIN, &credentials, status, None, body);
        assert_eq!(error.kind, kind, "{status} {error}");
        assert!(error.cause.contains(cause), "{status} {error}");
        assert!(error.next.to_string().contains(hint), "{status} {error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn the_reason_of_the_server_is_passed_on() {
    let table = [
        (
            403,
            r#"{"message": "Blocking request with non-local 'Host' evil.example"}"#,
            "token: Blocking request with non-local",
        ),
        (403, r#"{"message": "Forbidden"}"#, "does not accept the token."),
        (
            404,
            r#"{"message": "the folder is on a disk that is not mounted"}"#,
            "no \"x.ipynb\": the folder is on",
        ),
        (404, r#"{"message": "No such file or directory: x.ipynb"}"#, "has no \"x.ipynb\"."),
        (413, r#"{"message": "limit is 5 MB"}"#, "limit is 5 MB"),
        (
            500,
            r#"{"message": "x [Errno 2] No such file or directory: 'a/x'"}"#,
            "No such file or directory: 'a/x'",
        ),
        (503, "upstream unavailable", "status 503): upstream unavailable"),
        (
            504,
            r#"{"message": "Kernel start timed out", "reason": "x"}"#,
            "failed on \"x.ipynb\": Kernel start timed out x",
        ),
    ];
    for (status, body, cause) in table {
        let error = explain(PLAIN, &token(), status, None, body);
        assert!(error.cause.contains(cause), "{status} {error}");
    }
}

#[test]
fn a_missing_program_of_a_kernel_is_named() {
    let base = Url::parse(PLAIN).unwrap();
    let error = of_response(&FailedRequest {
        base: &base,
        credentials: &token(),
        subject: "kernel \"x\"",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        location: None,
        body: br#"{"message": "[Errno 2] No such file or directory: '/opt/gone/bin/python'"}"#,
    });
    assert!(error.kind == Kind::Server && error.cause.contains("/opt/gone/bin/python"), "{error}");
}

#[test]
fn what_a_server_says_is_made_safe() {
    assert_eq!(safe("a\u{1b}[31m\u{202e}b\nc\u{7f}"), "a\\u{1b}[31m\\u{202e}b c\\u{7f}");
    assert_eq!(safe("GET /lab?token=hush&x=1 failed"), "GET /lab?token=… failed");
    assert_eq!(safe(" \n"), "");
}

#[test]
fn redirects_are_explained_by_their_target() {
    let table = [
        (PLAIN, "/base/login?next=%2Fbase%2Fapi", Kind::Unauthorized, "requires a token"),
        (PLAIN, "https://h:1/base/api", Kind::Address, "only be used over https"),
        (
            PLAIN,
            "https://sso.example/authorize?state=hush",
            Kind::NotJupyter,
            "https://sso.example/authorize",
        ),
        (PLAIN, "http://[broken", Kind::NotJupyter, "not as a Jupyter server"),
        (HUB, "/hub/user/ada/api/status", Kind::Stopped, "not running"),
        (HUB, "/hub/spawn/ada", Kind::Stopped, "not running"),
        (HUB, "/hub/spawn-pending/ada?_=1", Kind::Starting, "being started"),
        (HUB, "/hub/api/oauth2/authorize?client_id=x", Kind::Unauthorized, "requires a token"),
        (HUB, "/hub/login?next=", Kind::Unauthorized, "requires a token"),
        ("https://h.org/", "/hub/", Kind::NotJupyter, "is a JupyterHub"),
    ];
    for (base, location, kind, cause) in table {
        let error = explain(base, &Credentials::None, 302, Some(location), "");
        assert_eq!(error.kind, kind, "{location}: {error}");
        assert!(error.cause.contains(cause), "{location}: {error}");
        assert!(!error.to_string().contains("hush"), "a query may contain a secret: {error}");
    }
}

#[test]
fn errors_of_a_hub_name_the_scope_or_the_page() {
    let stopped = explain(HUB, &token(), 424, None, "");
    let next = stopped.next.to_string();
    assert!(next.contains("https://h.org/hub/home"), "{stopped}");
    assert!(next.contains("servers!user=ada"), "{stopped}");
    let refused = explain(HUB, &token(), 403, None, "");
    assert!(
        refused.next.to_string().contains("access:servers!user=ada at https://h.org/hub/token"),
        "{refused}"
    );
    let password = explain(
        HUB,
        &Credentials::Password(Secret::new("hush").unwrap()),
        302,
        Some("/hub/api/oauth2/authorize?x"),
        "",
    );
    assert!(password.next.to_string().contains("access:servers!user=ada"), "{password}");
    let named = explain("https://h.org/user/ada/gpu/", &token(), 424, None, "");
    assert!(named.cause.contains("\"gpu\" of ada"), "{named}");
}

#[test]
fn messages_are_cut_to_one_short_line() {
    assert_eq!(message(br#"{"message": "a\n b.", "reason": "c"}"#).as_deref(), Some("a b. c"));
    assert_eq!(
        message(b"file or directory 'x' does not exist").as_deref(),
        Some("file or directory 'x' does not exist")
    );
    assert_eq!(message(br#"{"message": null, "reason": null}"#), None);
    assert_eq!(message(br#"{"message": 3}"#), None);
    assert_eq!(message(b"<!doctype html>"), None);
    assert_eq!(message(b""), None);
    assert_eq!(message(&[0xff, 0xfe]).as_deref(), Some("\u{fffd}\u{fffd}"));
    let long = format!(r#"{{"message": "{}"}}"#, "ü".repeat(10_000));
    assert_eq!(message(long.as_bytes()).unwrap().chars().count(), MAX_MESSAGE);
}

#[test]
fn addresses_are_shown_without_their_query() {
    let url = Url::parse("https://h.org/user/ada/?token=hush#x").unwrap();
    assert_eq!(origin_and_path(&url), "https://h.org/user/ada");
    assert_eq!(origin_and_path(&Url::parse("http://[::1]:8888/").unwrap()), "http://[::1]:8888");
}

/// A server that answers the first record of a handshake with these bytes, and closes the connection.
async fn answering(bytes: &'static [u8]) -> RestError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}/", listener.local_addr().unwrap());
    let _task = AbortOnDropHandle::new(tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(bytes).await;
        }
    }));
    client(&base, Credentials::None).status().await.unwrap_err()
}

#[tokio::test]
async fn each_failure_of_a_tls_handshake_has_a_cause_and_a_next_step() {
    let table: [(&[u8], &str, &str); 8] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak TLS", "http://"),
        // Alerts: the record, its version and length, the level "fatal", the description.
        (&[21, 3, 1, 0, 2, 2, 70], "neither TLS 1.2 nor 1.3", "Update the server"),
        (&[21, 3, 1, 0, 2, 2, 40], "cipher suites", "cipher suites"),
        (&[21, 3, 1, 0, 2, 2, 71], "cipher suites", "cipher suites"),
        (&[21, 3, 1, 0, 2, 2, 112], "no host of that name", "host name"),
        (&[21, 3, 1, 0, 2, 2, 116], "requires a client certificate", "SSH tunnel"),
        (&[21, 3, 1, 0, 2, 2, 80], "InternalError", "log"),
        (b"", "it closed the connection", "http://"),
    ];
    for (bytes, cause, next) in table {
        let error = answering(bytes).await;
        assert!(error.cause.starts_with("The TLS handshake with https://127.0.0.1:"), "{error}");
        assert!(error.cause.contains(cause), "{error}");
        assert!(error.next.to_string().contains(next), "{error}");
    }
}
