//! Requests to Google: no redirect is followed, and no error contains what was sent or received.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use connection::Secret;
use place::{Error, ErrorKind, NextStep};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, redirect};
use rest::{Proxies, ServerProxy};
use tokio::sync::OnceCell;

use crate::api::Request;
use crate::requests::Pauses;
use crate::tokens::{self, Grant, Tokens};
use crate::{Google, Result};

/// How long a request may take in all.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Responses are a few thousand bytes, lists of machines some more.
const MAX_BYTES: usize = 512 * 1024;

/// Google's own clients send it to the API and to machines; other names are accepted.
pub(crate) const CLIENT_AGENT: (&str, &str) = ("x-colab-client-agent", "cellbridge");

/// A client for Google's servers.
#[derive(Debug, Clone)]
pub struct Http {
    pub(crate) google: Google,
    pub(crate) pauses: Pauses,
    proxies: Proxies,
    agent: String,
    /// Created for the first request: reading the system's certificates takes 15 ms.
    client: Arc<OnceCell<Client>>,
}

impl Http {
    /// Contacts nothing.
    pub fn new(google: Google, proxies: &Proxies, agent: &str) -> Self {
        let (pauses, client) = Default::default();
        Self { google, pauses, proxies: proxies.clone(), agent: agent.to_owned(), client }
    }

    pub fn google(&self) -> &Google {
        &self.google
    }

    async fn client(&self) -> Result<&Client> {
        self.client.get_or_try_init(|| async { self.build() }).await
    }

    fn build(&self) -> Result<Client> {
        // reqwest needs a provider; if another crate installed one, that one is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut client = Client::builder()
            .user_agent(&self.agent)
            .redirect(redirect::Policy::none())
            .referer(false)
            .timeout(TIMEOUT)
            .http1_only()
            // Without this, the client would read the environment.
            .no_proxy();
        if self.google.is_on_loopback() {
            // Reading the system's certificates fails where there are none.
            client = client.tls_certs_only([]);
        } else if let Some(proxy) = self.proxy() {
            client = client.proxy(proxy.client().map_err(|error| unavailable(&error.cause))?);
        }
        client.build().map_err(|_| {
            unavailable("The certificates of this system cannot be used, so Google cannot be reached.")
        })
    }

    pub(crate) async fn tokens(&self, grant: Grant, form: String, now: SystemTime) -> Result<Tokens> {
        let (status, body) = self.post(&self.google.token, form).await?;
        let tokens = tokens::read(grant, status, &body, now);
        tracing::debug!(?grant, status, problem = ?tokens.as_ref().err(), "Google has answered a request for tokens");
        tokens
    }

    /// Sends a form, and returns status and body.
    pub(crate) async fn post(&self, url: &str, form: String) -> Result<(u16, Vec<u8>)> {
        let request =
            self.client().await?.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.receive(request.body(form)).await
    }

    /// Sends a request to the API, and returns status and body.
    pub(crate) async fn call(&self, request: &Request, token: &Secret) -> Result<(u16, Vec<u8>)> {
        let url = format!("{}/{}", self.google.api, request.path);
        let mut builder = self
            .client()
            .await?
            .request(request.method.clone(), url)
            .bearer_auth(token.expose())
            .header(ACCEPT, "application/json")
            .header(CLIENT_AGENT.0, CLIENT_AGENT.1);
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        self.receive(builder).await
    }

    async fn receive(&self, request: RequestBuilder) -> Result<(u16, Vec<u8>)> {
        let failure = |error: reqwest::Error| failure(error, self.proxy());
        let mut response = request.send().await.map_err(failure)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            if body.len() + chunk.len() > MAX_BYTES {
                let cause = "Google's response is far larger than expected.";
                return Err(Error::new(ErrorKind::RemoteFailure, cause, NextStep::TryAgain));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response.status().as_u16(), body))
    }

    /// The same for all of Google's servers.
    fn proxy(&self) -> Option<ServerProxy<'_>> {
        self.proxies.for_server(&self.google.api.parse().ok()?)
    }
}

fn unavailable(cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, cause, NextStep::TryAgain)
}

fn failure(error: reqwest::Error, proxy: Option<ServerProxy<'_>>) -> Error {
    if error.is_timeout() {
        let way = proxy.map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
        let cause = format!("Google did not answer{way} within {} s.", TIMEOUT.as_secs());
        return Error::new(ErrorKind::Timeout, cause, NextStep::TryAgain);
    }
    let Some(url) = error.url().cloned() else {
        return Error::new(ErrorKind::Disconnected, "The connection to Google broke.", NextStep::TryAgain);
    };
    let error = rest::unreached(error, &url, proxy);
    Error::new(ErrorKind::Disconnected, format!("Google cannot be reached. {}", error.cause), error.next)
}
