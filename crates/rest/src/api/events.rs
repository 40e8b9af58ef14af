//! Events of the server, through which jupyterlab-commands-toolkit takes commands.

use reqwest::Method;
use serde_json::Value;

use crate::server::Request;
use crate::{Result, Server};

/// The path of the stream of events, for [`Server::websocket`].
pub const EVENTS: &str = "api/events/subscribe";

impl Server {
    /// Emits an event: `{"schema_id", "data", "version"}`. Nobody need be listening.
    pub async fn emit_event(&self, body: &Value) -> Result<()> {
        self.ask(&Request::new(Method::POST, "api/events", "event").json(body)?).await.map(drop)
    }
}
