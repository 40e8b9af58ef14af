use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex as SyncMutex;

use super::*;
use crate::Server;
use crate::testing::{Fake, Seen, client, reply};

/// A server with a login page. Increasing `epoch` ends all sessions.
fn respond(seen: &Seen, epoch: &AtomicUsize) -> Response {
    let cookies = seen.header("cookie");
    let valid = format!("session={}", epoch.load(Ordering::SeqCst));
    match (seen.method.as_str(), seen.uri.path()) {
        ("GET", "/base/login") => reply(200, &[("set-cookie", "_xsrf=2|ab; Path=/base/")], "<html>"),
        ("POST", "/base/login") => {
            let form: Vec<(String, String)> = form_urlencoded::parse(&seen.body).into_owned().collect();
            let is = |name: &str, value: &str| form.contains(&(name.to_owned(), value.to_owned()));
            if !is("_xsrf", "2|ab") || !cookies.contains("_xsrf=2|ab") {
                return reply(403, &[], "'_xsrf' argument missing from POST");
            }
            if !is("password", "p&ü +") {
                return reply(401, &[], "<html>Invalid credentials");
            }
            let cookie = format!("{valid}; Path=/base/; HttpOnly");
            reply(302, &[("set-cookie", &cookie), ("location", "/base/")], "")
        }
        _ if !cookies.contains(&valid) => reply(403, &[], r#"{"message":"Forbidden"}"#),
        _ if seen.header("x-xsrftoken") != "2|ab" => {
            reply(403, &[], r#"{"message":"'_xsrf' argument missing"}"#)
        }
        _ => reply(200, &[], "[]"),
    }
}

async fn server() -> (Fake, Arc<AtomicUsize>) {
    let epoch = Arc::new(AtomicUsize::new(1));
    let shared = Arc::clone(&epoch);
    (Fake::new(move |seen| respond(seen, &shared)).await, epoch)
}

fn with_password(fake: &Fake, password: &str) -> Server {
    client(&format!("{}base/lab", fake.base), Credentials::Password(Secret::new(password).unwrap()))
}

fn logins(fake: &Fake) -> usize {
    fake.lines().iter().filter(|line| *line == "POST /base/login").count()
}

#[tokio::test]
async fn concurrent_requests_share_one_login() {
    let (fake, _) = server().await;
    let server = with_password(&fake, "p&ü +");
    let responses = join_all((0..10).map(|_| server.kernels())).await;
    assert!(responses.iter().all(Result::is_ok), "{responses:?}");
    assert_eq!(logins(&fake), 1);
    assert!(fake.seen().iter().all(|seen| seen.header("authorization").is_empty()));
}

#[tokio::test]
async fn concurrent_requests_renew_an_ended_session_once() {
    let (fake, epoch) = server().await;
    let server = with_password(&fake, "p&ü +");
    server.kernels().await.unwrap();
    epoch.store(2, Ordering::SeqCst);
    let responses = join_all((0..10).map(|_| server.kernels())).await;
    assert!(responses.iter().all(Result::is_ok), "{responses:?}");
    assert_eq!(logins(&fake), 2);
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_per_call() {
    let (fake, _) = server().await;
    let server = with_password(&fake, "hush");
    for call in 1..=2 {
        let error = server.kernels().await.unwrap_err();
        assert_eq!(error.kind, Kind::Unauthorized);
        assert!(error.cause.contains("password"), "{error}");
        assert!(!error.to_string().contains("hush"), "{error}");
        assert_eq!(logins(&fake), call);
    }
}

#[tokio::test]
async fn a_request_refused_after_a_new_login_fails() {
    let fake = Fake::new(|seen| match seen.uri.path() {
        "/base/login" => respond(seen, &AtomicUsize::new(1)),
        _ => reply(403, &[], r#"{"message":"Forbidden"}"#),
    })
    .await;
    let error = with_password(&fake, "p&ü +").kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unauthorized, "{error}");
    assert_eq!(logins(&fake), 2);
}

#[tokio::test]
async fn changes_send_the_xsrf_token_to_a_server_without_authentication() {
    let fake = Fake::new(|seen| match (seen.method.as_str(), seen.uri.path()) {
        (_, "/base/login") => respond(seen, &AtomicUsize::new(1)),
        ("POST", _) if seen.header("x-xsrftoken") != "2|ab" => {
            reply(403, &[], r#"{"message":"'_xsrf' missing"}"#)
        }
        _ => reply(201, &[], r#"{"id":"k"}"#),
    })
    .await;
    let server = client(&format!("{}base/", fake.base), Credentials::None);
    assert_eq!(server.start_kernel(None, None).await.unwrap().id, "k");
}

#[tokio::test]
async fn a_password_for_a_server_of_a_hub_asks_for_a_token() {
    let fake = Fake::new(|_| reply(404, &[], "<html>")).await;
    let server =
        client(&format!("{}user/ada/", fake.base), Credentials::Password(Secret::new("hush").unwrap()));
    let error = server.kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unauthorized);
    assert!(error.next.to_string().contains("access:servers!user=ada"), "{error}");
}

#[tokio::test]
async fn a_server_without_a_login_page_is_not_jupyter() {
    let fake = Fake::new(|_| reply(200, &[], "hello")).await;
    assert_eq!(with_password(&fake, "hush").kernels().await.unwrap_err().kind, Kind::NotJupyter);
}

/// Issues the tokens 1, 2, … and none that was refused, until it knows the server no longer.
#[derive(Debug, Default)]
struct Counting {
    number: SyncMutex<u32>,
    renewals: AtomicUsize,
    stands_by_it: bool,
    is_gone: bool,
}

impl TokenIssuer for Counting {
    fn client(&self) -> (&'static str, &'static str) {
        ("x-client", "tests")
    }

    fn header(&self) -> &'static str {
        "x-proxy-token"
    }

    fn token(&self) -> BoxFuture<'_, Result<Secret>> {
        async { Ok(Secret::new(format!("hush{}", self.number.lock())).unwrap()) }.boxed()
    }

    fn renewed<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret>> {
        async move {
            if self.is_gone {
                return Err(RestError::new(Kind::Gone, "The machine has ended.", "Start another."));
            }
            if !self.stands_by_it && *refused == self.token().await? {
                self.renewals.fetch_add(1, Ordering::SeqCst);
                *self.number.lock() += 1;
            }
            self.token().await
        }
        .boxed()
    }
}

/// A server behind a proxy that accepts this token only, and knows no kernel `gone`.
async fn proxied(accepted: u32) -> Fake {
    Fake::new(move |seen| {
        assert_eq!(seen.header("authorization"), "");
        match seen.uri.path() {
            _ if seen.header("x-proxy-token") != format!("hush{accepted}") => reply(404, &[], "not here"),
            "/api/kernels/gone" => reply(404, &[], r#"{"message":"Kernel does not exist"}"#),
            "/api" => reply(200, &[], r#"{"version":"2.20.0"}"#),
            _ => reply(200, &[("set-cookie", "a=b")], "[]"),
        }
    })
    .await
}

fn with_issuer(fake: &Fake, issuer: Counting) -> (Server, Arc<Counting>) {
    let issuer = Arc::new(issuer);
    (client(&fake.base, Credentials::Issued(issuer.clone())), issuer)
}

#[tokio::test]
async fn a_token_that_the_proxy_refuses_is_replaced_once_for_all_requests() {
    let fake = proxied(1).await;
    let (server, issuer) = with_issuer(&fake, Counting::default());
    let responses = join_all((0..10).map(|_| server.kernels())).await;
    assert!(responses.iter().all(Result::is_ok), "{responses:?}");
    assert_eq!(issuer.renewals.load(Ordering::SeqCst), 1);
    // What the server has not, it has not.
    assert_eq!(server.kernel("gone").await.unwrap(), None);
    assert_eq!(issuer.renewals.load(Ordering::SeqCst), 1);
    assert!(fake.seen().iter().all(|seen| seen.header("cookie").is_empty()));
}

#[tokio::test]
async fn a_refused_token_that_its_issuer_stands_by_means_that_the_server_starts() {
    let fake = proxied(9).await;
    let (server, _) = with_issuer(&fake, Counting { stands_by_it: true, ..Counting::default() });
    let error = server.kernels().await.unwrap_err();
    assert_eq!(error.kind, Kind::Starting);
    assert!(!error.to_string().contains("hush"), "{error}");
    let (server, _) = with_issuer(&fake, Counting { is_gone: true, ..Counting::default() });
    assert_eq!(server.kernels().await.unwrap_err().kind, Kind::Gone);
}
