use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::testing::{Fake, Seen, client, reply};
use crate::{ContentsQuery, NextStep, Proxies, Secret};

const ENTRY: &str = r#"{"path":"x.ipynb","type":"notebook"}"#;

#[tokio::test]
async fn the_token_is_sent_in_a_header_only() {
    let fake = Fake::new(|_| reply(200, &[], "[]")).await;
    client(&format!("{}?token=hush", fake.base), Credentials::None).kernels().await.unwrap();
    let seen = fake.seen();
    assert_eq!(seen[0].line(), "GET /api/kernels");
    assert_eq!(seen[0].header("authorization"), "token hush");
    assert_eq!(seen[0].header("user-agent"), "tests/1");
}

#[tokio::test]
async fn cookies_are_ignored_with_a_token() {
    let fake =
        Fake::new(|_| reply(200, &[("set-cookie", "login=hush; Path=/"), ("set-cookie", "_xsrf=x")], "[]"))
            .await;
    let server = fake.client("");
    for _ in 0..2 {
        server.kernels().await.unwrap();
    }
    server.emit_event(&serde_json::json!({})).await.unwrap();
    let cookies: Vec<_> = fake.seen().iter().map(|seen| seen.header("cookie").to_owned()).collect();
    assert_eq!(cookies, ["", "", ""]);
}

#[tokio::test]
async fn a_file_s_path_is_found_by_its_id() {
    let fake = Fake::new(|seen| match seen.uri.to_string().as_str() {
        "/api/fileid/path?id=f%20g" => reply(200, &[], r#"{"id":"f g","path":"a/new.ipynb"}"#),
        _ => reply(404, &[], r#"{"message":"The path for file, x, could not be found."}"#),
    })
    .await;
    let server = fake.client("");
    assert_eq!(server.file_path("f g").await, Ok(Some("a/new.ipynb".to_owned())));
    assert_eq!(server.file_path("x").await, Ok(None));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Fake::new(|_| reply(200, &[], "[]")).await;
    let target = format!("{}api/kernels", other.base);
    let fake = Fake::new(move |_| reply(302, &[("location", &target)], "")).await;
    let error = fake.client("").kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::NotJupyter, "{error}");
    assert!(other.lines().is_empty(), "the token went to another origin");
    assert_eq!(fake.lines().len(), 1);
}

#[tokio::test]
async fn a_refused_connection_names_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = client(&base, Credentials::None).status().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable);
    assert!(error.cause.contains(base.trim_end_matches('/')), "{error}");
    assert!(error.cause.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_server_is_given_up_after_the_network_timeout() {
    let network_timeout = NetworkTimeout::from_seconds(0.1).unwrap();
    for start in ["", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[{"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let silent = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.write_all(start.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        });
        let options = Options { network_timeout, ..Options::default() };
        let server = Server::new(&address, Credentials::None, &options).unwrap();
        let start = Instant::now();
        let error = server.kernels().await.unwrap_err();
        assert_eq!(error.kind, Kind::Timeout, "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
        silent.abort();
    }
}

#[tokio::test]
async fn the_size_limit_applies_with_and_without_a_content_length() {
    let fake = Fake::new(|seen| {
        if seen.uri.path() == "/chunked" {
            let chunks = futures_util::stream::iter(
                (0..100).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 100]))),
            );
            return reply(200, &[], axum::body::Body::from_stream(chunks));
        }
        reply(200, &[], vec![b'x'; 10_000])
    })
    .await;
    let server = fake.client("");
    for path in ["announced", "chunked"] {
        let ask = async |limit| server.ask(&Request::get(path, "answer").limit(limit)).await;
        assert_eq!(ask(9_999).await.unwrap_err().kind, Kind::TooLarge, "{path}");
        assert_eq!(ask(10_000).await.unwrap().len(), 10_000, "{path}");
    }
}

#[tokio::test]
async fn an_html_page_means_a_wrong_address() {
    let fake = Fake::new(|_| reply(200, &[("content-type", "text/html")], "<!doctype html>")).await;
    assert_eq!(fake.client("").status().await.unwrap_err().kind, Kind::NotJupyter);
    assert_eq!(fake.client("").kernels().await.unwrap_err().kind, Kind::NotJupyter);
}

#[tokio::test]
async fn the_pieces_of_a_notebook_are_sent_as_one_body() {
    let fake = Fake::new(|_| reply(200, &[], ENTRY)).await;
    let pieces: Vec<Bytes> = [&b"{\"cells\""[..], b": [", b"]}"].map(Bytes::from_static).to_vec();
    fake.client("").save_notebook("/a b/x.ipynb", pieces).await.unwrap();
    let seen = &fake.seen()[0];
    assert_eq!(seen.line(), "PUT /api/contents/a%20b/x.ipynb");
    let whole = r#"{"type":"notebook","format":"json","content":{"cells": []}}"#;
    assert_eq!(seen.body, whole.as_bytes());
    assert_eq!(seen.header("content-length"), whole.len().to_string());
    assert_eq!(seen.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_new_notebook_never_overwrites_a_concurrent_one() {
    // The file does not exist at the check, but exists at the rename.
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "GET" => reply(404, &[], "does not exist"),
        "PATCH" => reply(409, &[], r#"{"message":"File already exists: x.ipynb"}"#),
        "DELETE" => reply(204, &[], ""),
        _ => reply(201, &[], ENTRY),
    })
    .await;
    let error =
        fake.client("").create_notebook("x.ipynb", vec![Bytes::from_static(b"{}")]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Conflict, "{error}");
    let lines = fake.lines();
    let beside = lines[1].strip_prefix("PUT ").unwrap();
    assert_ne!(beside, "/api/contents/x.ipynb");
    assert_eq!(lines[2..], [format!("PATCH {beside}"), format!("DELETE {beside}")]);
}

#[tokio::test]
async fn an_existing_path_is_a_conflict() {
    let fake = Fake::new(|_| reply(200, &[], ENTRY)).await;
    let error = fake.client("").create_notebook("x.ipynb", Vec::new()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    assert_eq!(fake.lines().len(), 1);
}

#[tokio::test]
async fn the_metadata_of_a_folder_is_read_without_the_hash() {
    let fake = Fake::new(|seen| match seen.uri.query() {
        Some("content=0") => reply(200, &[], r#"{"path":"d","type":"directory"}"#),
        _ => reply(500, &[], r#"{"message":"Keys unexpectedly None: ['hash', 'hash_algorithm']"}"#),
    })
    .await;
    let entry = fake.client("").contents("d", ContentsQuery::Hash).await.unwrap();
    assert_eq!(entry.kind, crate::EntryKind::Directory);
}

#[tokio::test]
async fn no_session_is_created_with_a_missing_kernel() {
    let fake = Fake::new(|_| reply(404, &[], r#"{"message":"Kernel does not exist: k"}"#)).await;
    let kernel = crate::SessionKernel::Running("k".to_owned());
    assert_eq!(fake.client("").create_session("x.ipynb", &kernel).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(fake.lines(), ["GET /api/kernels/k"]);
}

#[tokio::test]
async fn missing_extensions_are_not_an_error() {
    let fake = Fake::new(|_| reply(404, &[], "<html>")).await;
    let server = fake.client("");
    assert_eq!(server.collaboration_session("a/x.ipynb").await, Ok(None));
    assert_eq!(server.file_id("a/x.ipynb").await, Ok(None));
    assert_eq!(
        fake.lines(),
        ["PUT /api/collaboration/session/a/x.ipynb", "POST /api/fileid/index?path=a/x.ipynb"]
    );
}

#[tokio::test]
async fn missing_and_unknown_fields_are_accepted() {
    let fake = Fake::new(|seen| match seen.uri.path() {
        "/api/sessions" => reply(200, &[], r#"[{"id":"s","path":null,"type":"notebook","kernel":null,"notebook":{}}]"#),
        "/api/kernels" => reply(200, &[], r#"[{"id":"k","name":null,"reason":"","new":[1]},{"id":"l","connections":2}]"#),
        _ => reply(
            200,
            &[],
            r#"{"default":null,"kernelspecs":{"b":{},"a":{"name":"a","spec":{"display_name":"A","language":"x","argv":[]}}}}"#,
        ),
    })
    .await;
    let server = fake.client("");
    let session = server.sessions().await.unwrap().remove(0);
    assert_eq!((session.path.as_str(), session.kernel), ("", None));
    let kernels = server.kernels().await.unwrap();
    assert_eq!((kernels[0].name.as_str(), kernels[1].connections), ("", Some(2)));
    let specs = server.kernelspecs().await.unwrap();
    let names: Vec<_> =
        specs.specs.iter().map(|spec| (spec.name.as_str(), spec.display_name.as_str())).collect();
    assert_eq!(names, [("a", "A"), ("b", "b")]);
}

/// Responds to the first request on the first connection, closes that connection at the next request, and responds on the
/// second connection.
async fn closing(listener: TcpListener) {
    async fn request(stream: &mut TcpStream) {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") && !text.ends_with(b"{}") {
            let byte = stream.read_u8().await.unwrap();
            text.push(byte);
        }
    }
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]";
    let (mut first, _) = listener.accept().await.unwrap();
    request(&mut first).await;
    first.write_all(ANSWER).await.unwrap();
    request(&mut first).await;
    drop(first);
    let (mut second, _) = listener.accept().await.unwrap();
    request(&mut second).await;
    second.write_all(ANSWER).await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn only_idempotent_requests_are_repeated_on_a_new_connection() {
    for repeats in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = client(&format!("http://{}/", listener.local_addr().unwrap()), Credentials::None);
        let task = tokio::spawn(closing(listener));
        server.kernels().await.unwrap();
        if repeats {
            assert_eq!(server.kernels().await, Ok(Vec::new()));
        } else {
            let error = server.start_kernel(None, None).await.unwrap_err();
            assert_eq!(error.kind, Kind::Unreachable, "{error}");
        }
        task.abort();
    }
}

#[tokio::test]
async fn proxies_are_used_except_for_loopback() {
    let proxy = Fake::new(|_| reply(200, &[], "[]")).await;
    let server = |base: &str, no_proxy: Option<&str>| {
        let proxies = Proxies {
            all: Some(proxy.base.clone()),
            no_proxy: no_proxy.map(str::to_owned),
            ..Proxies::default()
        };
        let options = Options { proxies, ..Options::default() };
        Server::new(&Address::parse(base).unwrap(), Credentials::None, &options).unwrap()
    };
    server("http://jupyter.invalid/", None).kernels().await.unwrap();
    assert_eq!(proxy.lines(), ["GET http://jupyter.invalid/api/kernels"]);
    let direct = server("http://jupyter.invalid/", Some("jupyter.invalid")).kernels().await;
    assert_eq!(direct.unwrap_err().kind, Kind::Unreachable);
    let fake = Fake::new(|_| reply(200, &[], "[]")).await;
    server(&fake.base, None).kernels().await.unwrap();
    assert_eq!(proxy.lines().len(), 1);
}

#[tokio::test]
async fn invalid_options_fail_the_first_request() {
    let proxy = Options {
        proxies: Proxies { all: Some("http://ada:hush@".to_owned()), ..Proxies::default() },
        ..Options::default()
    };
    let file = Options { ca_file: Some("/no/such/file.pem".into()), ..Options::default() };
    for (options, word) in [(proxy, "proxy"), (file, "/no/such/file.pem")] {
        assert!(!format!("{options:?}").contains("hush"));
        let server =
            Server::new(&Address::parse("https://h.invalid/").unwrap(), Credentials::None, &options).unwrap();
        let error = server.status().await.unwrap_err();
        assert!(error.cause.contains(word), "{error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn secrets_are_not_printed() {
    let fake = Fake::new(|seen| reply(403, &[], seen.header("authorization").to_owned())).await;
    let server = fake.client("");
    let error = server.status().await.unwrap_err();
    let credentials = Credentials::Password(Secret::new("hush").unwrap());
    let printed = format!("{server:?} {error:?} {error} {credentials:?}");
    assert!(!printed.contains("hush"), "{printed}");
}

#[test]
fn a_token_that_is_not_a_header_value_is_refused() {
    let address = Address::parse("http://h:1/").unwrap();
    let credentials = Credentials::Token(Secret::new("hush\r\nX: y").unwrap());
    let error = Server::new(&address, credentials, &Options::default()).unwrap_err();
    assert_eq!(error.kind, Kind::Unauthorized);
    assert!(!error.to_string().contains("hush"));
}

#[test]
fn requests_stay_below_the_base_url() {
    let server = client("http://h:1/base/", Credentials::None);
    assert_eq!(server.sender().url("api/x:y?z=1").unwrap().as_str(), "http://h:1/base/api/x:y?z=1");
    for path in ["../api", "/api", "//evil.example/", "https://evil.example/", "a/../../b"] {
        let url = server.sender().url(path);
        assert!(
            url.as_ref().is_ok_and(|url| url.as_str().starts_with("http://h:1/base/")) || url.is_err(),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_negative_count_of_connections_is_unknown() {
    const KERNELS: &str =
        r#"[{"id":"k","name":"python3","connections":-1},{"id":"l","name":"python3","connections":2}]"#;
    let fake = Fake::new(|_| reply(200, &[], KERNELS)).await;
    let counts: Vec<_> = fake.client("").kernels().await.unwrap().iter().map(|it| it.connections).collect();
    assert_eq!(counts, [None, Some(2)]);
}

#[tokio::test]
async fn a_server_with_a_password_asks_for_it() {
    for (label, next) in [
        ("Password:", NextStep::GivePassword),
        ("Password or token:", NextStep::GiveToken { obtain: TOKEN.into() }),
    ] {
        let fake = Fake::new(move |seen: &Seen| match seen.uri.path() {
            "/login" => reply(200, &[], format!("<label>{label}</label>")),
            _ => reply(403, &[], r#"{"message":"Forbidden"}"#),
        })
        .await;
        let error = client(&fake.base, Credentials::None).version().await.unwrap_err();
        assert!(error.cause.contains("requires a token or a password"), "{error}");
        assert_eq!(error.next, next, "{label}");
    }
}

/// The next step for a server that has a token.
const TOKEN: &str = "Take the token from the server's log or from `jupyter server list`.";

/// A client of a server behind this proxy.
fn behind(proxy: &str) -> Server {
    let proxies = Proxies { http: Some(proxy.to_owned()), ..Proxies::default() };
    let options = Options { proxies, ..Options::default() };
    Server::new(&Address::parse("http://192.0.2.1:8888/").unwrap(), Credentials::None, &options).unwrap()
}

#[tokio::test]
async fn a_broken_proxy_is_named_instead_of_the_server() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failing = Fake::new(|_: &Seen| reply(502, &[], "<html>Bad Gateway</html>")).await;
    let failing = failing.base.trim_end_matches('/').replace("//", "//ada:hush@");
    for proxy in [format!("http://{closed}"), failing, "http://proxy.invalid:1".to_owned()] {
        let error = behind(&proxy).version().await.unwrap_err();
        let name = proxy.rsplit(['@', '/']).next().unwrap();
        let said = format!("http://192.0.2.1:8888 is not reached through the proxy {name} (HTTP_PROXY): ");
        assert!(error.cause.starts_with(&said), "{error}");
        assert!(
            error.next.to_string().contains("add 192.0.2.1 to NO_PROXY")
                && !error.to_string().contains("hush"),
            "{error}"
        );
    }
}
