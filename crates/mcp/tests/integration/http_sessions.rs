//! The number and the lifetime of HTTP sessions are bounded, and clients recover.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::BoxFuture;
use mcp::{HttpAuth, Metrics, Server, SessionLimits, serve_http};
use place::{Answer, Call, Error, Relay, Tool};
use serde_json::value::RawValue;
use testkit::{Endpoint, Session, within};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) const VERSION: &str = "2025-11-25";

/// A relay whose calls wait for a permit.
pub(crate) struct Slow {
    tool: Arc<RawValue>,
    result: Box<RawValue>,
    begun: Semaphore,
    permits: Semaphore,
    changes: watch::Sender<u64>,
}

impl Relay for Slow {
    fn instructions(&self) -> String {
        String::new()
    }

    fn tools(&self) -> Vec<Tool> {
        vec![Tool { name: "wait".to_owned(), definition: self.tool.clone() }]
    }

    fn group(&self) -> &'static str {
        "page"
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn call(&self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async {
            self.begun.add_permits(1);
            if let Ok(permit) = self.permits.acquire().await {
                permit.forget();
            }
            Ok(Answer::Result(self.result.clone()))
        })
    }
}

impl Slow {
    pub(crate) fn new() -> Result<Self> {
        let json = |text: &str| RawValue::from_string(text.to_owned());
        Ok(Self {
            tool: Arc::from(json(r#"{"name":"wait","inputSchema":{"type":"object"}}"#)?),
            result: json(r#"{"content":[]}"#)?,
            begun: Semaphore::new(0),
            permits: Semaphore::new(0),
            changes: watch::Sender::new(0),
        })
    }
}

struct Served {
    endpoint: Endpoint,
    metrics: Arc<Metrics>,
    relay: Arc<Slow>,
    _shutdown: DropGuard,
}

async fn serve(limits: SessionLimits) -> Result<Served> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = Endpoint::new(format!("http://{}/mcp", listener.local_addr()?));
    let metrics = Arc::new(Metrics::default());
    let relay = Arc::new(Slow::new()?);
    let mut server = Server::new(relay.clone());
    (server.metrics, server.session_limits) = (metrics.clone(), limits);
    let shutdown = CancellationToken::new();
    tokio::spawn(serve_http(server, listener, HttpAuth::new(None, [], false), shutdown.clone()));
    Ok(Served { endpoint, metrics, relay, _shutdown: shutdown.drop_guard() })
}

impl Served {
    async fn open(&self) -> Result<Session> {
        Session::open(&self.endpoint, VERSION).await
    }
}

/// The status of a request in a session.
async fn ping(session: &Session) -> Result<u16> {
    Ok(session.request("1", "ping", "{}").await?.status().as_u16())
}

fn at_most(max_sessions: usize) -> SessionLimits {
    SessionLimits { max_sessions, ..SessionLimits::default() }
}

/// On a busy machine a session may end while it is being opened; the client tries again.
async fn open_brief(served: &Served) -> Result<Session> {
    loop {
        match served.open().await {
            Err(error) if error.to_string().contains("404") => {}
            opened => return opened,
        }
    }
}

async fn sessions_fall_to(number: u64, served: &Served) -> Result<()> {
    within("the end of idle sessions", async {
        while served.metrics.sessions() > number {
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn brief() -> SessionLimits {
    SessionLimits { idle_timeout: Duration::from_millis(50), ..SessionLimits::default() }
}

#[tokio::test]
async fn an_idle_session_ends_and_its_client_starts_a_new_one() -> Result<()> {
    let served = serve(brief()).await?;
    let idle = open_brief(&served).await?;
    sessions_fall_to(0, &served).await?;
    assert_eq!(ping(&idle).await?, 404);
    assert_eq!(idle.listen().await?.status(), 404);
    open_brief(&served).await?;
    Ok(())
}

#[tokio::test]
async fn a_session_with_an_open_stream_is_not_idle() -> Result<()> {
    let served = serve(brief()).await?;
    let (listening, stream) = loop {
        let session = open_brief(&served).await?;
        let stream = session.listen().await?;
        if stream.status() == 200 {
            break (session, stream);
        }
    };
    // Another session begins and ends in between.
    let idle = open_brief(&served).await?;
    sessions_fall_to(1, &served).await?;
    assert_eq!(ping(&idle).await?, 404);
    assert_eq!(ping(&listening).await?, 200);
    drop(stream);
    Ok(())
}

#[tokio::test]
async fn the_longest_idle_session_makes_room_for_a_new_one() -> Result<()> {
    let served = serve(at_most(2)).await?;
    let (first, second) = (served.open().await?, served.open().await?);
    assert_eq!(ping(&first).await?, 200);
    let third = served.open().await?;
    assert_eq!(ping(&second).await?, 404);
    assert_eq!(ping(&first).await?, 200);
    assert_eq!(ping(&third).await?, 200);
    Ok(())
}

#[tokio::test]
async fn a_session_with_a_call_in_progress_is_kept() -> Result<()> {
    let served = serve(at_most(2)).await?;
    let (busy, idle) = (served.open().await?, served.open().await?);
    let mut reply = busy.request("5", "tools/call", r#"{"name":"wait"}"#).await?;
    served.relay.begun.acquire().await?.forget();
    assert_eq!(ping(&idle).await?, 200);
    let new = served.open().await?;
    assert_eq!(ping(&idle).await?, 404);
    let mut other = new.request("6", "tools/call", r#"{"name":"wait"}"#).await?;
    served.relay.begun.acquire().await?.forget();
    let Err(refused) = served.open().await else { panic!("a session too many") };
    assert!(refused.to_string().contains("503"), "{refused}");
    served.relay.permits.add_permits(2);
    assert_eq!(reply.message().await?.result()?, r#"{"content":[]}"#);
    assert_eq!(other.message().await?.result()?, r#"{"content":[]}"#);
    Ok(())
}

#[tokio::test]
async fn a_request_listens_to_a_bounded_number_of_resources() -> Result<()> {
    let served = serve(SessionLimits::default()).await?;
    let uris: Vec<String> = (0..20_000).map(|number| format!("run://r{number}")).collect();
    let filter = format!(r#""notifications":{{"resourceSubscriptions":{}}}"#, serde_json::to_string(&uris)?);
    let mut refused = served.endpoint.post_modern(1, "subscriptions/listen", &filter, "").await?;
    refused.notification("notifications/subscriptions/acknowledged").await?;
    let refusal = refused.message().await?.text;
    assert!(refusal.contains("\"error\"") && refusal.contains("at most 1000"), "{refusal}");
    Ok(())
}
