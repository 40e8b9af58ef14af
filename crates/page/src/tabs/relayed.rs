//! The page of one server's tabs, as the process of the page passes it on.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::ROOT;
use crate::pages::Pages;
use crate::private_socket::{connect, request};
use crate::routes;

/// How long a server may take to begin a stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what a person does may take: an undo asks the tab several times.
const ACT_TIMEOUT: Duration = Duration::from_secs(300);
/// A server sends something more often than this.
const SILENCE: Duration = Duration::from_secs(60);
/// More than the largest answer.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

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
        let body = timeout(STREAM_TIMEOUT, Limited::new(body, MAX_ANSWER).collect()).await;
        let Ok(Ok(body)) = body else { return gone() };
        (head.status, [(header::CONTENT_TYPE, "application/json")], body.to_bytes()).into_response()
    }

    /// The events of a page, until its browser or the server is gone.
    pub(crate) async fn events(self, connect: Bytes) -> Response {
        let Some(answer) = self.ask("/view/events", connect, STREAM_TIMEOUT).await else { return gone() };
        if answer.status() != StatusCode::OK {
            return gone();
        }
        let open = (answer.into_body().into_data_stream(), self.pages.enter());
        let events = unfold(open, |(mut body, open)| async move {
            // The page connects again, whatever has ended the stream.
            let bytes = timeout(SILENCE, body.next()).await.ok()??.ok()?;
            Some((Ok::<_, std::convert::Infallible>(bytes), (body, open)))
        });
        routes::event_stream(Body::from_stream(events))
    }
}

/// What a page shows whose server is gone.
fn gone() -> Response {
    let error = "The agent's server that was connected to this Colab tab has ended, or does not answer. The page shows what it saw last.";
    (StatusCode::CONFLICT, axum::Json(serde_json::json!({ "error": error }))).into_response()
}
