//! `JupyterHub`: its address, and starting a server through it.
//!
//! <https://jupyterhub.readthedocs.io/en/stable/reference/rest-api.html>

pub(crate) mod address;

pub use address::HubServer;

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout_at};

use crate::auth::denial::explain;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, body, diagnosis};

/// The longest line of a progress stream, in bytes.
const MAX_LINE: usize = 64 << 10;
/// How long to wait before a server that is being stopped is started again.
const STOPPING_PAUSE: Duration = Duration::from_millis(250);

/// One event of a server's start.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    progress: Option<f64>,
    message: String,
    ready: bool,
    failed: bool,
}

#[derive(Deserialize)]
struct Owner {
    scopes: Option<Vec<String>>,
}

impl Server {
    /// Starts the server through its Hub, and waits up to `timeout` until it is ready. `report` receives the Hub's
    /// progress messages. Succeeds at once if the server is running already.
    pub async fn start_through_hub(
        &self,
        timeout: Duration,
        mut report: impl FnMut(String) + Send,
    ) -> Result<()> {
        let hub = HubServer::of(self.base()).ok_or_else(|| diagnosis::stopped(&self.sender().base))?;
        let end = Instant::now() + timeout;
        let late = |_| {
            RestError::new(
                Kind::Starting,
                format!("{} was not ready within {} s.", hub.title(), timeout.as_secs()),
                format!("It may still be starting: see {}. The next call checks again.", hub.home()),
            )
        };
        timeout_at(end, self.start(&hub, &mut report)).await.map_err(late)?
    }

    /// Whether the Hub lets our token start this server. `None` if the Hub does not say (before `JupyterHub` 2).
    pub async fn may_start(&self) -> Result<Option<bool>> {
        let Some(hub) = HubServer::of(self.base()) else { return Ok(None) };
        let subject = "owner of the token";
        let request = Request::get("hub/api/user", subject);
        let response = self.sender().attempt(&request, hub.url(&request.path)?).await?;
        if !response.status().is_success() {
            return Err(explain(self.sender(), subject, response).await);
        }
        let body = self.sender().read_body(response, request.limit).await?;
        let Owner { scopes } = self.parse(&body, subject)?;
        Ok(scopes.map(|scopes| scopes.iter().any(|scope| starts(scope, &hub))))
    }

    async fn start(&self, hub: &HubServer, report: &mut (impl FnMut(String) + Send)) -> Result<()> {
        let subject = "server of the Hub";
        loop {
            let request = Request::new(Method::POST, hub.api()?, subject).idempotent();
            let response = self.sender().attempt(&request, hub.url(&request.path)?).await?;
            match response.status() {
                StatusCode::CREATED => return Ok(()),
                StatusCode::ACCEPTED => return self.follow(hub, report).await,
                StatusCode::BAD_REQUEST => {
                    if !is_stopping(&self.sender().read_body(response, body::MAX_FAILURE_BYTES).await?) {
                        // It is running or starting; the progress stream says which.
                        return self.follow(hub, report).await;
                    }
                    sleep(STOPPING_PAUSE).await;
                }
                StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => {
                    return Err(not_allowed(hub));
                }
                _ => return Err(explain(self.sender(), subject, response).await),
            }
        }
    }

    /// Reads the progress stream (server-sent events) until the server is ready.
    async fn follow(&self, hub: &HubServer, report: &mut (impl FnMut(String) + Send)) -> Result<()> {
        let request = Request::get(format!("{}/progress", hub.api()?), "progress of the Hub");
        let url = hub.url(&request.path)?;
        let mut response = self.sender().attempt(&request, url.clone()).await?;
        match response.status() {
            status if status.is_success() => {}
            // The server is not starting.
            StatusCode::BAD_REQUEST => return Err(diagnosis::stopped(&self.sender().base)),
            StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => return Err(not_allowed(hub)),
            _ => return Err(explain(self.sender(), request.subject, response).await),
        }
        let mut events = Events::default();
        let broke = |error: reqwest::Error| diagnosis::of_transport(error, &url);
        while let Some(chunk) = response.chunk().await.map_err(broke)? {
            for event in events.take(&chunk)? {
                if !event.message.is_empty() {
                    report(line(&event));
                }
                if event.ready {
                    return Ok(());
                }
                if event.failed {
                    return Err(RestError::new(
                        Kind::Server,
                        format!("{} could not be started: {}", hub.title(), diagnosis::safe(&event.message)),
                        format!("See {} or the Hub's log for the reason.", hub.home()),
                    ));
                }
            }
        }
        Err(RestError::new(
            Kind::Starting,
            format!("The Hub stopped reporting the start of {}.", hub.title()),
            "The next call checks again.",
        ))
    }
}

/// Whether a server cannot be started yet, because the Hub is stopping it or checks whether it has ended.
fn is_stopping(body: &[u8]) -> bool {
    diagnosis::message(body).is_some_and(|message| message.contains(" is pending "))
}

/// Whether a scope allows the server to be started, such as `servers!user=ada` or `admin:servers`.
fn starts(scope: &str, hub: &HubServer) -> bool {
    let (name, filter) = scope.split_once('!').unwrap_or((scope, ""));
    let is_for_server = match filter.split_once('=') {
        None => filter.is_empty() || filter == "user",
        Some(("user", user)) => user == hub.user,
        Some(("server", server)) => server == format!("{}/{}", hub.user, hub.name.as_deref().unwrap_or("")),
        Some(_) => false,
    };
    matches!(name, "servers" | "admin:servers") && is_for_server
}

fn line(report: &Report) -> String {
    let message = diagnosis::safe(&report.message);
    match report.progress {
        Some(progress) => format!("{progress:.0} %: {message}"),
        None => message,
    }
}

fn not_allowed(hub: &HubServer) -> RestError {
    RestError::new(
        Kind::Stopped,
        format!("{} is not running, and the token may not start it.", hub.title()),
        format!(
            "Press \"Start My Server\" at {}, or create a token with the scopes servers!user={user} and \
             access:servers!user={user} at {}.",
            hub.home(),
            hub.tokens(),
            user = hub.user
        ),
    )
}

/// Parses server-sent events that arrive in chunks.
#[derive(Default)]
struct Events {
    rest: Vec<u8>,
}

impl Events {
    fn take(&mut self, chunk: &[u8]) -> Result<Vec<Report>> {
        self.rest.extend_from_slice(chunk);
        let mut reports = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            // Skip events of an unknown form.
            reports.extend(serde_json::from_slice::<Report>(data));
        }
        if self.rest.len() > MAX_LINE {
            return Err(RestError::new(
                Kind::Malformed,
                "The Hub's progress stream has an unterminated line.",
                "See the server's page on the Hub.",
            ));
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests;
