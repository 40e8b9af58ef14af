//! The page of one server's tabs, as the process of the page passes it on: the server's events with the questions that wait here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::sync::watch;
use tokio::time::timeout;

use super::ROOT;
use crate::notices::Notices;
use crate::pages::{OpenPage, Pages};
use crate::parts::{Known, updates};
use crate::private_socket::{connect, request};
use crate::stream::event;
use crate::{now, routes};

/// How long a server may take to begin a stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what a person does may take: an undo asks the tab several times.
const ACT_TIMEOUT: Duration = Duration::from_secs(300);
/// A server sends something more often than this.
const SILENCE: Duration = Duration::from_secs(60);
/// More than the largest event, which has a whole output.
const MAX_EVENT: usize = 256 * 1024 * 1024;

/// A server with tabs that a page names.
pub struct TabServer {
    name: String,
    pages: Arc<Pages>,
}

impl TabServer {
    /// The server that a page names in place of a folder, if it names one.
    pub fn of(root: &str, pages: &Arc<Pages>) -> Option<Self> {
        let name = root.strip_prefix(ROOT)?;
        Some(Self { name: name.to_owned(), pages: pages.clone() })
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    async fn ask(&self, path: &str, body: Bytes, limit: Duration) -> Option<hyper::Response<Incoming>> {
        let folder = &self.pages.tab_servers()?.folder;
        let asking = async { request(connect(folder, &self.name).await?, Method::POST, path, body).await };
        match timeout(limit, asking).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a server with tabs is gone");
                None
            }
            Err(_) => None,
        }
    }

    /// Passes on what a person does.
    pub(crate) async fn act(&self, action: Bytes) -> Response {
        let Some(answer) = self.ask("/view/act", action, ACT_TIMEOUT).await else { return gone() };
        let (head, body) = answer.into_parts();
        let body = timeout(STREAM_TIMEOUT, Limited::new(body, MAX_EVENT).collect()).await;
        let Ok(Ok(body)) = body else { return gone() };
        (head.status, [(header::CONTENT_TYPE, "application/json")], body.to_bytes()).into_response()
    }

    /// The events of a page, until its browser or the server is gone.
    pub(crate) async fn events(self, connect: Bytes, known: Known) -> Response {
        let Some(answer) = self.ask("/view/events", connect, STREAM_TIMEOUT).await else { return gone() };
        if answer.status() != StatusCode::OK {
            return gone();
        }
        let mut questions = self.pages.questions().changes();
        questions.mark_changed();
        let relayed = Relayed {
            body: answer.into_body(),
            received: BytesMut::new(),
            questions,
            known,
            notices: Notices::default(),
            _open: self.pages.enter(),
            server: self,
        };
        let events = unfold(relayed, |mut relayed| async move {
            let event = relayed.next().await?;
            Some((Ok::<_, std::convert::Infallible>(event), relayed))
        });
        routes::event_stream(Body::from_stream(events))
    }
}

/// What a page shows whose server is gone.
fn gone() -> Response {
    let error = "The agent's server that was connected to this Colab tab has ended, or does not answer. The page shows what it saw last.";
    (StatusCode::CONFLICT, axum::Json(serde_json::json!({ "error": error }))).into_response()
}

struct Relayed {
    body: Incoming,
    /// What came of the next events.
    received: BytesMut,
    questions: watch::Receiver<()>,
    known: Known,
    notices: Notices,
    server: TabServer,
    _open: OpenPage,
}

impl Relayed {
    /// The next events, each whole; `None` if the server is gone.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                frame = timeout(SILENCE, self.body.frame()) => {
                    let frame = frame.ok()??.ok()?;
                    if let Some(events) = whole_events(&mut self.received, frame.data_ref()?) {
                        return Some(events);
                    }
                    if self.received.len() > MAX_EVENT {
                        return None;
                    }
                }
                changed = self.questions.changed() => {
                    changed.ok()?;
                    if let Some(event) = self.questions() {
                        return Some(event);
                    }
                }
            }
        }
    }

    /// The questions that wait for the person, if the browser lacks any.
    fn questions(&mut self) -> Option<Bytes> {
        let questions = self.server.pages.questions().all();
        let notices = self.notices.of(&[], &questions);
        let (updates, _) = updates(&mut self.known, &[now::questions(&questions)]);
        let is_known = updates.is_empty() && notices.is_empty();
        (!is_known).then(|| event(&serde_json::json!({ "updates": updates, "notices": notices })))
    }
}

/// Adds what came, and takes what is there of whole events then: frames of HTTP may end within one.
///
/// Example: of `data: 1\n\ndata: 2\n\nda` it takes `data: 1\n\ndata: 2\n\n`.
fn whole_events(received: &mut BytesMut, more: &[u8]) -> Option<Bytes> {
    // No event ends before.
    let new = received.len().saturating_sub(1);
    received.extend_from_slice(more);
    let end = new + received[new..].windows(2).rposition(|pair| pair == b"\n\n")? + 2;
    Some(received.split_to(end).freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_passed_on_whole() {
        let mut received = BytesMut::new();
        for (more, whole) in [
            ("data: 1", None),
            ("\n", None),
            ("\n", Some("data: 1\n\n")),
            ("data: 2\n\ndata: 3\n\nda", Some("data: 2\n\ndata: 3\n\n")),
            ("ta: 4\n\n", Some("data: 4\n\n")),
        ] {
            let found = whole_events(&mut received, more.as_bytes());
            assert_eq!(found.as_deref(), whole.map(str::as_bytes), "{more:?}");
        }
        assert!(received.is_empty());
    }
}
