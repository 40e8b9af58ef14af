//! A Jupyter server: its address, our credentials, and requests to it.

use std::sync::Arc;

use bytes::Bytes;
use connection::NetworkTimeout;
use futures_util::future::BoxFuture;
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::address::origin_and_path;
use crate::auth::denial::explain;
use crate::auth::login::{Login, SentWith};
use crate::hub::address::HubServer;
use crate::request::Request;
use crate::sender::Sender;
use crate::{Address, Credentials, Kind, Options, RestError, Result, diagnosis};

/// A Jupyter server. Clones are the same server, with the same connections and cookies.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    sender: Sender,
    login: Login,
    uploads: Uploads,
}

/// The uploads under way, and the deletions of what unfinished ones have left.
#[derive(Default)]
pub(crate) struct Uploads {
    pub(crate) tasks: TaskTracker,
    pub(crate) ended: CancellationToken,
}

impl Server {
    /// Contacts nothing and reads no file: unusable certificates and proxies fail the first request.
    pub fn new(address: &Address, credentials: Credentials, options: &Options) -> Result<Self> {
        let credentials = match (credentials, &address.token) {
            (Credentials::None, Some(token)) => Credentials::Token(token.clone()),
            (given, _) => given,
        };
        let mut options = options.clone();
        if !matches!(credentials, Credentials::Forwarded(_)) {
            // The socket belongs to the server in whose process we run, not to this one.
            options.private_socket = None;
        }
        let sender = Sender::new(address.base.clone(), credentials, options)?;
        Ok(Self { inner: Arc::new(Inner { sender, login: Login::default(), uploads: Uploads::default() }) })
    }

    /// The server's base URL, which ends with `/`.
    pub fn base(&self) -> &Url {
        &self.sender().base
    }

    /// Ends all uploads, and waits until what they have left is deleted. Later ones fail.
    pub async fn end_uploads(&self) {
        let Uploads { tasks, ended } = self.uploads();
        ended.cancel();
        tasks.close();
        tasks.wait().await;
    }

    pub(crate) fn uploads(&self) -> &Uploads {
        &self.inner.uploads
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.inner.sender
    }

    /// How long it may be silent.
    pub fn network_timeout(&self) -> NetworkTimeout {
        self.sender().options.network_timeout
    }

    /// Sends a request and returns the response with any status. Logs in first, and again if the session expired.
    pub(crate) fn send<'s>(&'s self, request: &'s Request<'_>) -> BoxFuture<'s, Result<Response>> {
        // Boxed, so that its code is not again in each crate that sends a request.
        Box::pin(async move {
            let Inner { sender, login, .. } = &*self.inner;
            let url = sender.url(&request.path)?;
            let mut attempts = 0;
            loop {
                let sent_with = login.ensure(sender).await?;
                let response = sender.attempt(request, url.clone()).await?;
                attempts += 1;
                // A proxy that refuses a new token, too, is asked once more: its refusal must not be taken for the server's.
                let most = if matches!(sent_with, SentWith::Issued(_)) { 3 } else { 2 };
                if attempts == most
                    || !needs_login(&response, &sent_with)
                    || !login.again(sender, &sent_with, &request.method).await?
                {
                    return Ok(response);
                }
            }
        })
    }

    /// Sends a request and reads its response, which must be a success.
    pub(crate) async fn ask(&self, request: &Request<'_>) -> Result<Bytes> {
        let response = self.send(request).await?;
        self.finish(request, response).await
    }

    /// Like `ask`; `None` for 404.
    pub(crate) async fn ask_for(&self, request: &Request<'_>) -> Result<Option<Bytes>> {
        self.ask_unless(request, &[StatusCode::NOT_FOUND]).await
    }

    /// Like `ask`; `None` for a response with one of these statuses, by which the server says that there is nothing.
    pub(crate) async fn ask_unless(
        &self,
        request: &Request<'_>,
        absent: &[StatusCode],
    ) -> Result<Option<Bytes>> {
        let response = self.send(request).await?;
        if absent.contains(&response.status()) {
            return self.check_hub(response.status()).await.map(|()| None);
        }
        self.finish(request, response).await.map(Some)
    }

    /// Reads a response that must be a success.
    pub(crate) fn finish<'s>(
        &'s self,
        request: &'s Request<'_>,
        response: Response,
    ) -> BoxFuture<'s, Result<Bytes>> {
        Box::pin(async move {
            let status = response.status();
            if status.is_success() {
                return self.sender().read_body(response, request.limit).await;
            }
            self.check_hub(status).await?;
            Err(explain(self.sender(), request.subject, response).await)
        })
    }

    /// Fails if the response came from the Hub, or from another server of the same user, because this one is stopped.
    ///
    /// The proxy then sends requests to the Hub, which redirects a GET but responds 403 to a change. Requests for a
    /// named server go to the user's default server if that is running, which responds 404. For example, with
    /// `/user/ada/gpu/` stopped, `GET /user/ada/gpu/api/contents/x.ipynb` responds 404 as if the file were missing; then
    /// `GET /user/ada/gpu/api` fails too, which shows that the server is stopped.
    pub(crate) async fn check_hub(&self, status: StatusCode) -> Result<()> {
        let is_ambiguous = match HubServer::of(self.base()) {
            Some(HubServer { name: Some(_), .. }) => matches!(status.as_u16(), 403..=405),
            Some(_) => matches!(status.as_u16(), 403 | 405),
            None => false,
        };
        if !is_ambiguous {
            return Ok(());
        }
        match self.version().await {
            Err(error) if matches!(error.kind, Kind::Stopped | Kind::Starting) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a request and reads its response as JSON.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, request: &Request<'_>) -> Result<T> {
        let body = self.ask(request).await?;
        self.parse(&body, request.subject)
    }

    /// Parses JSON. An HTML page instead means that the address is wrong.
    pub(crate) fn parse<T: DeserializeOwned>(&self, body: &[u8], subject: &str) -> Result<T> {
        serde_json::from_slice(body).map_err(|error| self.malformed(body, subject, &error))
    }

    pub(crate) fn malformed(&self, body: &[u8], subject: &str, error: &serde_json::Error) -> RestError {
        if diagnosis::is_page(body) {
            return diagnosis::not_jupyter(&self.sender().base);
        }
        let server = origin_and_path(&self.sender().base);
        RestError::new(
            Kind::Malformed,
            format!("{server} sent a response for {subject} that is not Jupyter's: {error}."),
            "Check that the address is the base URL of a Jupyter server, and that the server is up to date.",
        )
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("base", &self.sender().base.as_str()).finish_non_exhaustive()
    }
}

/// Whether the response requires a login.
fn needs_login(response: &Response, sent_with: &SentWith) -> bool {
    let to_login = || {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        location.is_some_and(|location| location.contains("/login"))
    };
    match response.status() {
        status if matches!(sent_with, SentWith::Issued(_)) => {
            matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND)
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        status => status.is_redirection() && to_login(),
    }
}

#[cfg(test)]
mod tests;
