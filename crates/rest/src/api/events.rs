//! Events of the server. jupyterlab-commands-toolkit receives commands as events.

use reqwest::Method;
use serde_json::Value;

use crate::request::Request;
use crate::{Result, Server};

/// The path of the event stream, for [`Server::websocket`].
pub const EVENTS: &str = "api/events/subscribe";

impl Server {
    /// Emits an event: `{"schema_id", "data", "version"}`. Succeeds without subscribers.
    pub async fn emit_event(&self, body: &Value) -> Result<()> {
        self.ask(&Request::new(Method::POST, "api/events", "event").json(body)?).await.map(drop)
    }
}
