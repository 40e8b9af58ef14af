use url::Url;

use super::*;

fn of(base: &str) -> Option<HubServer> {
    HubServer::of(&Url::parse(base).unwrap())
}

#[test]
fn hub_user_and_server_name_are_read_from_the_address() {
    let table = [
        ("https://h.org/user/ada/", "ada", None, "https://h.org/hub/home", "hub/api/users/ada/server"),
        (
            "https://h.org/user/ada/gpu/",
            "ada",
            Some("gpu"),
            "https://h.org/hub/home",
            "hub/api/users/ada/servers/gpu",
        ),
        ("http://h:8000/jh/user/ada/", "ada", None, "http://h:8000/jh/hub/home", "hub/api/users/ada/server"),
        (
            "https://h.org/user/a%40b.c/",
            "a@b.c",
            None,
            "https://h.org/hub/home",
            "hub/api/users/a%40b.c/server",
        ),
        ("https://h.org/user/a%2Fb/", "a/b", None, "https://h.org/hub/home", "hub/api/users/a%2Fb/server"),
        ("https://h.org/user/user/", "user", None, "https://h.org/hub/home", "hub/api/users/user/server"),
    ];
    for (base, user, name, home, api) in table {
        let hub = of(base).unwrap_or_else(|| panic!("{base}"));
        assert_eq!((hub.user.as_str(), hub.name.as_deref()), (user, name), "{base}");
        assert_eq!(hub.home(), home);
        assert_eq!(hub.api().as_deref(), Ok(api));
    }
}

#[test]
fn other_addresses_have_no_hub() {
    for base in [
        "http://h:1/",
        "http://h:1/jupyter/",
        "http://h:1/user/",
        "http://h:1/user/a/b/c/",
        "http://h:1/users/a/",
    ] {
        assert_eq!(of(base), None, "{base}");
    }
}

#[test]
fn the_hub_s_api_has_the_server_s_origin() {
    let hub = of("https://h.org/jh/user/ada/").unwrap();
    assert_eq!(hub.url(&hub.api().unwrap()).unwrap().as_str(), "https://h.org/jh/hub/api/users/ada/server");
}

#[test]
fn progress_is_parsed_in_chunks_of_any_size() {
    let stream = b": hello\r\n\r\ndata: {\"progress\": 0, \"message\": \"Server requested\"}\r\n\r\nevent: x\ndata:{\"progress\": 50.4, \"message\": \"Pulling\"}\n\ndata: no json\n\ndata: {\"progress\": 100, \"ready\": true, \"message\": \"\", \"url\": \"/user/ada/\"}\n\n";
    for size in [1, 7, 1000] {
        let mut events = Events::default();
        let reports: Vec<Report> =
            stream.chunks(size).flat_map(|chunk| events.take(chunk).unwrap()).collect();
        let lines: Vec<String> = reports.iter().map(line).collect();
        assert_eq!(lines, ["0 %: Server requested", "50 %: Pulling", "100 %: "], "in pieces of {size}");
        assert_eq!(reports.iter().map(|report| report.ready).collect::<Vec<_>>(), [false, false, true]);
    }
}

#[test]
fn an_endless_line_fails() {
    let mut events = Events::default();
    let error = (0..100).find_map(|_| events.take(&[b'x'; 1024]).err()).expect("no limit");
    assert_eq!(error.kind, Kind::Malformed);
}

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::testing::{Fake, reply};

const BOUND: Duration = Duration::from_secs(20);

async fn started(fake: &Fake, path: &str, bound: Duration) -> (Result<()>, Vec<String>) {
    let mut lines = Vec::new();
    let outcome = fake.client(path).start_through_hub(bound, |line| lines.push(line)).await;
    (outcome, lines)
}

#[tokio::test]
async fn progress_is_reported_until_the_server_is_ready() {
    // 202: the start takes longer; 400: the server is starting already.
    for status in [202, 400] {
        let fake = Fake::new(move |seen| match seen.method.as_str() {
            "POST" => reply(status, &[], ""),
            _ => reply(
                200,
                &[("content-type", "text/event-stream")],
                "data: {\"progress\": 50, \"message\": \"Spawning\"}\n\ndata: {\"progress\": 100, \"ready\": true, \"message\": \"Ready\"}\n\n",
            ),
        })
        .await;
        let (outcome, lines) = started(&fake, "user/ada/gpu/lab", BOUND).await;
        assert_eq!(outcome, Ok(()));
        assert_eq!(lines, ["50 %: Spawning", "100 %: Ready"]);
        let asked = fake.lines();
        assert_eq!(
            asked,
            ["POST /hub/api/users/ada/servers/gpu", "GET /hub/api/users/ada/servers/gpu/progress"]
        );
        assert!(fake.seen().iter().all(|seen| seen.header("authorization") == "token hush"));
    }
}

#[tokio::test]
async fn a_server_that_starts_at_once_needs_no_progress() {
    let fake = Fake::new(|_| reply(201, &[], "")).await;
    assert_eq!(started(&fake, "user/ada/", BOUND).await, (Ok(()), Vec::new()));
    assert_eq!(fake.lines().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_being_stopped_is_started_afterwards() {
    let asked = Arc::new(AtomicUsize::new(0));
    let fake = Fake::new(move |seen| match (seen.method.as_str(), asked.fetch_add(1, Ordering::SeqCst)) {
        ("POST", 0..2) => reply(400, &[], r#"{"status": 400, "message": "ada is pending stop"}"#),
        ("POST", _) => reply(201, &[], ""),
        _ => reply(400, &[], r#"{"status": 400, "message": "ada is not starting..."}"#),
    })
    .await;
    assert_eq!(started(&fake, "user/ada/", BOUND).await.0, Ok(()));
}

#[tokio::test]
async fn a_refused_start_names_the_missing_scope() {
    let fake =
        Fake::new(|_| reply(403, &[], r#"{"status": 403, "message": "Action is not authorized"}"#)).await;
    let error = started(&fake, "user/ada/", BOUND).await.0.unwrap_err();
    assert_eq!(error.kind, Kind::Stopped);
    let next = error.next.to_string();
    assert!(next.contains("servers!user=ada"), "{error}");
    assert!(next.contains("/hub/home"), "{error}");
}

#[tokio::test]
async fn a_failed_start_contains_the_hub_s_message() {
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "POST" => reply(202, &[], ""),
        _ => reply(200, &[], "data: {\"failed\": true, \"message\": \"Spawn failed: no GPU\"}\n\n"),
    })
    .await;
    let error = started(&fake, "user/ada/", BOUND).await.0.unwrap_err();
    assert_eq!(error.kind, Kind::Server);
    assert!(error.cause.contains("no GPU"), "{error}");
}

#[tokio::test]
async fn a_start_times_out() {
    let fake = Fake::new(|seen| {
        if seen.method == "POST" {
            return reply(202, &[], "");
        }
        let first = Bytes::from_static(b"data: {\"progress\": 1, \"message\": \"Pulling\"}\n\n");
        let first = futures_util::stream::iter([Ok::<_, std::io::Error>(first)]);
        reply(200, &[], Body::from_stream(first.chain(futures_util::stream::pending())))
    })
    .await;
    let (outcome, lines) = started(&fake, "user/ada/", Duration::from_millis(500)).await;
    assert_eq!(outcome.unwrap_err().kind, Kind::Starting);
    assert_eq!(lines, ["1 %: Pulling"]);
}

#[tokio::test]
async fn a_progress_stream_that_ends_early_is_an_error() {
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "POST" => reply(202, &[], ""),
        _ => reply(200, &[], "data: {\"progress\": 1, \"message\": \"Pulling\"}\n\n"),
    })
    .await;
    assert_eq!(started(&fake, "user/ada/", BOUND).await.0.unwrap_err().kind, Kind::Starting);
}

#[tokio::test]
async fn a_server_without_a_hub_is_not_started() {
    let fake = Fake::new(|_| reply(201, &[], "")).await;
    assert_eq!(started(&fake, "", BOUND).await.0.unwrap_err().kind, Kind::Stopped);
    assert!(fake.lines().is_empty());
}

#[tokio::test]
async fn a_change_refused_by_the_hub_means_a_stopped_server() {
    // The responses of configurable-http-proxy and JupyterHub 6 for a stopped server.
    let fake = Fake::new(|seen| match seen.method.as_str() {
        "GET" => reply(302, &[("location", &format!("/hub{}", seen.uri))], ""),
        _ => reply(403, &[], r#"{"message": "'_xsrf' argument missing from POST"}"#),
    })
    .await;
    let server = fake.client("user/ada/");
    assert_eq!(server.start_kernel(None, None).await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.save_notebook("x.ipynb", Vec::new()).await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.status().await.unwrap_err().kind, Kind::Stopped);
}

#[tokio::test]
async fn a_stopped_named_server_is_not_a_missing_file() {
    let fake = Fake::new(|_| reply(404, &[], "<html>")).await;
    let server = fake.client("user/ada/gpu/");
    assert_eq!(server.contents("x.ipynb", crate::ContentsQuery::Hash).await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.kernel("k").await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.delete("x.ipynb").await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.delete_kernel("k").await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.delete_session("s").await.unwrap_err().kind, Kind::Stopped);
    assert_eq!(server.collaboration_session("x.ipynb").await.unwrap_err().kind, Kind::Stopped);
}

#[tokio::test]
async fn the_hub_explains_why_a_running_server_refuses() {
    let known = Arc::new(AtomicUsize::new(200));
    let shared = Arc::clone(&known);
    let fake = Fake::new(move |seen| match seen.uri.path() {
        "/user/ada/api" => reply(200, &[], r#"{"version": "2.21.1"}"#),
        "/hub/api/user" => reply(u16::try_from(shared.load(Ordering::SeqCst)).unwrap(), &[], "{}"),
        _ => reply(403, &[], r#"{"message": "Forbidden"}"#),
    })
    .await;
    let server = fake.client("user/ada/");
    let error = server.kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::Forbidden, "{error}");
    assert!(error.next.to_string().contains("access:servers!user=ada"), "{error}");
    known.store(403, Ordering::SeqCst);
    let error = server.kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unauthorized, "{error}");
}

#[test]
fn scopes_that_start_a_server_are_recognised() {
    let default = of("https://h.org/user/ada/").unwrap();
    let named = of("https://h.org/user/ada/gpu/").unwrap();
    for (scope, starts_default, starts_named) in [
        ("servers", true, true),
        ("admin:servers", true, true),
        ("servers!user=ada", true, true),
        ("servers!user", true, true),
        ("servers!server=ada/", true, false),
        ("servers!server=ada/gpu", false, true),
        ("servers!user=bob", false, false),
        ("access:servers!user=ada", false, false),
        ("servers!group=lab", false, false),
    ] {
        assert_eq!(
            (starts(scope, &default), starts(scope, &named)),
            (starts_default, starts_named),
            "{scope}"
        );
    }
}

#[tokio::test]
async fn the_hub_says_whether_a_token_may_start_the_server() {
    for (body, expected) in [
        (r#"{"scopes": ["servers!user=ada"]}"#, Some(true)),
        (r#"{"scopes": ["access:servers!user=ada"]}"#, Some(false)),
        (r#"{"name": "ada"}"#, None),
    ] {
        let hub = Fake::new(move |_| reply(200, &[], body)).await;
        assert_eq!(hub.client("user/ada/").may_start().await, Ok(expected), "{body}");
        assert_eq!(hub.lines(), ["GET /hub/api/user"]);
    }
}
