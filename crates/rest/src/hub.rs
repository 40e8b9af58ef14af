//! A Hub (`JupyterHub`) before a server: where it is, and starting a server through it.
//!
//! <https://jupyterhub.readthedocs.io/en/stable/reference/rest-api.html>

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::diagnosis::Shown;
use crate::server::{PATIENCE, Request};
use crate::{Kind, RestError, Result, Server, diagnosis, path};

/// The longest line of progress; a longer one is no progress.
const LINE: usize = 64 << 10;

/// A person's server as its Hub knows it, read from the address `…/user/NAME/` or `…/user/NAME/SERVER/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubServer {
    /// Where the Hub is, with everything before `user/` in the address; ends with `/`.
    root: Url,
    /// The person's name.
    pub user: String,
    /// The name of the server, if it is not the person's default one.
    pub name: Option<String>,
}

impl HubServer {
    /// Reads the address of a server; `None` if no Hub has servers at such addresses.
    pub fn of(base: &Url) -> Option<Self> {
        let parts: Vec<&str> = base.path().split('/').filter(|part| !part.is_empty()).collect();
        let at = parts.iter().position(|part| *part == "user")?;
        let (before, [_, user, rest @ ..]) = parts.split_at(at) else { return None };
        let decoded =
            |part: &str| percent_encoding::percent_decode_str(part).decode_utf8().ok().map(String::from);
        let name = match rest {
            [] => None,
            [name] => Some(decoded(name)?),
            _ => return None,
        };
        let mut root = base.clone();
        root.set_path(&before.iter().flat_map(|part| ["/", part]).chain(["/"]).collect::<String>());
        Some(Self { root, user: decoded(user)?, name })
    }

    /// The page with the button "Start My Server".
    pub fn home(&self) -> String {
        format!("{}hub/home", self.root)
    }

    /// The page where tokens are made.
    pub fn tokens(&self) -> String {
        format!("{}hub/token", self.root)
    }

    /// What to call it.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("The server {name:?} of {} on {}", self.user, diagnosis::place(&self.root)),
            None => format!("The server of {} on {}", self.user, diagnosis::place(&self.root)),
        }
    }

    /// The path of the server in the Hub's API.
    fn api(&self) -> Result<String> {
        let user = path::part(&self.user)?;
        match &self.name {
            Some(name) => Ok(format!("hub/api/users/{user}/servers/{}", path::part(name)?)),
            None => Ok(format!("hub/api/users/{user}/server")),
        }
    }
}

/// One report of a server's start.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    progress: Option<f64>,
    message: String,
    ready: bool,
    failed: bool,
}

impl Server {
    /// The Hub's side of this server, if its address is one of a Hub's servers.
    pub fn hub(&self) -> Option<HubServer> {
        HubServer::of(&self.inner.base)
    }

    /// Starts the server through its Hub, and waits until it is ready, for at most `patience`. `tell` gets the Hub's
    /// lines of progress. A server that runs already counts as started.
    pub async fn start_through_hub(
        &self,
        patience: Duration,
        mut tell: impl FnMut(String) + Send,
    ) -> Result<()> {
        let hub = self.hub().ok_or_else(|| diagnosis::stopped(&self.inner.base))?;
        let end = Instant::now() + patience;
        let late = |_| {
            RestError::new(
                Kind::Starting,
                format!("{} was not ready within {} s.", hub.title(), patience.as_secs()),
                format!("It may still be starting: {} shows it. The next call looks again.", hub.home()),
            )
        };
        timeout_at(end, self.start(&hub, &mut tell)).await.map_err(late)?
    }

    /// After a refusal with a token: asks the Hub whether it knows the token, to say which of the two is wrong.
    pub(crate) async fn explain_refusal(&self, refusal: RestError) -> RestError {
        let Some(hub) = self.hub().filter(|_| self.shown() == Shown::Token) else { return refusal };
        let request = Request::get("hub/api/user", "owner of the token");
        let Ok(url) = at_hub(&hub, &request.path) else { return refusal };
        match self.attempt(&request, url).await.map(|response| response.status()) {
            Ok(status) if status.is_success() => RestError::new(
                Kind::Forbidden,
                format!(
                    "The token is valid, but its scopes do not allow {} to be used.",
                    hub.title().replacen('T', "t", 1)
                ),
                format!("Make a token with the scope access:servers!user={} at {}.", hub.user, hub.tokens()),
            ),
            Ok(StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED) => RestError::new(
                Kind::Unauthorized,
                format!(
                    "The Hub at {} does not know the token; it may have expired.",
                    diagnosis::place(&hub.root)
                ),
                format!("Make a token with the scope access:servers!user={} at {}.", hub.user, hub.tokens()),
            ),
            _ => refusal,
        }
    }

    async fn start(&self, hub: &HubServer, tell: &mut (impl FnMut(String) + Send)) -> Result<()> {
        let subject = "server of the Hub";
        let request = Request::new(Method::POST, hub.api()?, subject).repeatable();
        let response = self.attempt(&request, at_hub(hub, &request.path)?).await?;
        match response.status() {
            StatusCode::CREATED => return Ok(()),
            // 400 says "already running" or "pending": progress tells which.
            StatusCode::ACCEPTED | StatusCode::BAD_REQUEST => {}
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => {
                return Err(not_allowed(hub));
            }
            _ => return Err(self.explain(subject, response).await),
        }
        self.follow(hub, tell).await
    }

    /// Reads the stream of progress (server-sent events) until the server is ready.
    async fn follow(&self, hub: &HubServer, tell: &mut (impl FnMut(String) + Send)) -> Result<()> {
        let mut request = Request::get(format!("{}/progress", hub.api()?), "progress of the Hub");
        request.patience = PATIENCE;
        let url = at_hub(hub, &request.path)?;
        let mut response = self.attempt(&request, url.clone()).await?;
        match response.status() {
            status if status.is_success() => {}
            // There is no progress of a server that is not starting.
            StatusCode::BAD_REQUEST => return Err(diagnosis::stopped(&self.inner.base)),
            StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => return Err(not_allowed(hub)),
            _ => return Err(self.explain(request.subject, response).await),
        }
        let mut events = Events::default();
        let broke = |error: reqwest::Error| diagnosis::of_transport(&error, &url);
        while let Some(chunk) = response.chunk().await.map_err(broke)? {
            for report in events.take(&chunk)? {
                if !report.message.is_empty() {
                    tell(line(&report));
                }
                if report.ready {
                    return Ok(());
                }
                if report.failed {
                    return Err(RestError::new(
                        Kind::Server,
                        format!("{} could not be started: {}", hub.title(), report.message),
                        format!("{} or the Hub's log says more.", hub.home()),
                    ));
                }
            }
        }
        Err(RestError::new(
            Kind::Starting,
            format!("The Hub stopped telling how {} comes up.", hub.title()),
            "The next call looks again.",
        ))
    }
}

fn at_hub(hub: &HubServer, path: &str) -> Result<Url> {
    hub.root.join(path).map_err(|error| {
        RestError::new(
            Kind::Address,
            format!("The Hub's address cannot be made: {error}."),
            "Check the server's address.",
        )
    })
}

fn line(report: &Report) -> String {
    match report.progress {
        Some(progress) => format!("{progress:.0} %: {}", report.message),
        None => report.message.clone(),
    }
}

fn not_allowed(hub: &HubServer) -> RestError {
    RestError::new(
        Kind::Stopped,
        format!("{} is not running, and the token may not start it.", hub.title()),
        format!(
            "Press \"Start My Server\" at {}, or make a token with the scopes servers!user={user} and \
             access:servers!user={user} at {}.",
            hub.home(),
            hub.tokens(),
            user = hub.user
        ),
    )
}

/// Server-sent events in pieces.
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
            // What cannot be read is a form of progress that we do not know.
            reports.extend(serde_json::from_slice::<Report>(data));
        }
        if self.rest.len() > LINE {
            return Err(RestError::new(
                Kind::Malformed,
                "The Hub's progress has no end of line.",
                "Look at the server's page on the Hub.",
            ));
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests;
