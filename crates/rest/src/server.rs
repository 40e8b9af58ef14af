//! A Jupyter server: its address, our credentials, and requests to it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use connection::NetworkTimeout;
use reqwest::cookie::Jar;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use url::Url;

use crate::address::origin_and_path;
use crate::auth::login::Login;
use crate::body::{self, Payload};
use crate::diagnosis::{self, Authentication, FailedRequest, FailedResponse};
use crate::hub::HubServer;
use crate::{Address, Credentials, Kind, Options, RestError, Result, client};

/// Timeout of starting or restarting a kernel, for example on a cluster.
pub(crate) const KERNEL_TIMEOUT: Duration = Duration::from_secs(120);

/// A Jupyter server. Clones are the same server, with the same connections and cookies.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) base: Url,
    pub(crate) credentials: Credentials,
    pub(crate) jar: Arc<Jar>,
    pub(crate) login: Login,
    /// Created for the first request: reading the system's certificates takes 15 ms.
    client: OnceCell<Client>,
    /// For web sockets. It reuses no connection: a proxy closes one whose upgrade was refused, so the next request on it
    /// would fail.
    sockets: OnceCell<Client>,
    options: Options,
}

/// One request. It can be sent again after a login, or when a reused connection turns out to be dead.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// Relative to the base URL, encoded, with its query.
    pub(crate) path: String,
    pub(crate) payload: Payload,
    /// If it differs from the network timeout.
    pub(crate) timeout: Option<Duration>,
    /// The largest response body, in bytes.
    pub(crate) limit: usize,
    /// What the request is about, as part of a sentence.
    pub(crate) subject: &'a str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether sending it twice has the same effect as once.
    pub(crate) is_idempotent: bool,
    /// Whether this opens a WebSocket.
    pub(crate) is_upgrade: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: Method, path: impl Into<String>, subject: &'a str) -> Self {
        Self {
            is_idempotent: matches!(method, Method::GET | Method::PUT | Method::DELETE),
            is_upgrade: false,
            method,
            path: path.into(),
            payload: Payload::default(),
            timeout: None,
            limit: body::MAX_BYTES,
            subject,
            headers: Vec::new(),
        }
    }

    pub(crate) fn get(path: impl Into<String>, subject: &'a str) -> Self {
        Self::new(Method::GET, path, subject)
    }

    pub(crate) fn json(mut self, value: &impl serde::Serialize) -> Result<Self> {
        self.payload = Payload::json(value)?;
        Ok(self)
    }

    pub(crate) fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

impl Server {
    /// Contacts nothing and reads no file: unusable certificates and proxies fail the first request.
    pub fn new(address: &Address, credentials: Credentials, options: &Options) -> Result<Self> {
        let credentials = match (credentials, &address.token) {
            (Credentials::None, Some(token)) => Credentials::Token(token.clone()),
            (given, _) => given,
        };
        if let Credentials::Token(token) = &credentials {
            authorization(token.expose())?;
        }
        let mut options = options.clone();
        if !matches!(credentials, Credentials::Forwarded(_)) {
            // The socket belongs to the server in whose process we run, not to this one.
            options.unix_socket = None;
        }
        let jar = Arc::new(Jar::default());
        let inner = Inner {
            base: address.base.clone(),
            credentials,
            jar,
            login: Login::default(),
            client: OnceCell::new(),
            sockets: OnceCell::new(),
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The server's base URL, which ends with `/`.
    pub fn base(&self) -> &Url {
        &self.inner.base
    }

    /// How long it may be silent.
    pub fn network_timeout(&self) -> NetworkTimeout {
        self.inner.options.network_timeout
    }

    pub(crate) fn authentication(&self) -> Authentication {
        match self.inner.credentials {
            Credentials::None => Authentication::None,
            Credentials::Token(_) => Authentication::Token,
            Credentials::Password(_) => Authentication::Password,
            Credentials::Forwarded(_) => Authentication::Forwarded,
        }
    }

    /// The URL of `path`, which is relative to the base and encoded.
    pub(crate) fn url(&self, path: &str) -> Result<Url> {
        let url = self.inner.base.join(&format!("./{path}")).ok();
        url.filter(|url| url.path().starts_with(self.inner.base.path()))
            .ok_or_else(|| RestError::defect(Kind::Address, "The request would leave the server's base URL."))
    }

    /// Sends a request and returns the response with any status. Logs in first, and again if the session expired.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Response> {
        let url = self.url(&request.path)?;
        let login = self.ensure_login().await?;
        let response = self.attempt(request, url.clone()).await?;
        if needs_login(&response) && self.login_again(&login, &request.method).await? {
            return self.attempt(request, url).await;
        }
        Ok(response)
    }

    /// Sends a request, and again if the connection broke and the request is idempotent.
    pub(crate) async fn attempt(&self, request: &Request<'_>, url: Url) -> Result<Response> {
        let first = self.once(request, url.clone()).await;
        match first {
            // A restarted server has closed our unused connections; the first request notices.
            Err(Failure { error, broke: true }) if request.is_idempotent => {
                tracing::debug!(cause = error.cause, "trying once more");
                self.once(request, url).await.map_err(|failure| failure.error)
            }
            other => other.map_err(|failure| failure.error),
        }
    }

    async fn once(&self, request: &Request<'_>, url: Url) -> Result<Response, Failure> {
        let Inner { base, jar, options, client, sockets, .. } = &*self.inner;
        // The server turns a token into a login cookie that survives revoking the token: with it, reads would succeed and
        // changes fail. Forwarded headers may contain cookies already.
        let has_jar = !matches!(self.inner.credentials, Credentials::Token(_) | Credentials::Forwarded(_));
        let jar = has_jar.then_some(jar);
        let client = if request.is_upgrade {
            sockets.get_or_try_init(|| async { client::build(base, jar, options, 0) }).await?
        } else {
            client.get_or_try_init(|| async { client::build(base, jar, options, usize::MAX) }).await?
        };
        let mut builder = client.request(request.method.clone(), url);
        builder = match &self.inner.credentials {
            Credentials::Token(token) => builder.header(AUTHORIZATION, authorization(token.expose())?),
            Credentials::Forwarded(forwarded) => builder.headers(forwarded.headers()),
            Credentials::None | Credentials::Password(_) => match self.xsrf() {
                Some(xsrf) => builder.header("X-XSRFToken", xsrf),
                None => builder,
            },
        };
        if !request.payload.pieces.is_empty() {
            let form = request.payload.is_form;
            let kind = if form { "application/x-www-form-urlencoded" } else { "application/json" };
            builder = builder
                .header(CONTENT_TYPE, kind)
                .header(CONTENT_LENGTH, request.payload.len())
                .body(request.payload.clone().into_body());
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let timeout = request.timeout.unwrap_or(options.network_timeout.duration());
        match tokio::time::timeout(timeout, builder.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let broke = error.is_request() && !error.is_connect() && !error.is_timeout();
                Err(Failure { error: diagnosis::of_transport(error, &self.inner.base), broke })
            }
            Err(_) => Err(diagnosis::timed_out(&self.inner.base, timeout).into()),
        }
    }

    /// Sends a request and reads its response, which must be a success.
    pub(crate) async fn ask(&self, request: &Request<'_>) -> Result<Bytes> {
        let response = self.send(request).await?;
        self.finish(request, response).await
    }

    /// Like `ask`; `None` for 404.
    pub(crate) async fn ask_for(&self, request: &Request<'_>) -> Result<Option<Bytes>> {
        let response = self.send(request).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return self.check_hub(response.status()).await.map(|()| None);
        }
        self.finish(request, response).await.map(Some)
    }

    /// Reads a response body of at most `limit` bytes.
    pub(crate) async fn read_body(&self, response: Response, limit: usize) -> Result<Bytes> {
        body::read(response, &self.inner.base, limit, self.network_timeout()).await
    }

    /// Reads a response that must be a success.
    pub(crate) async fn finish(&self, request: &Request<'_>, response: Response) -> Result<Bytes> {
        let status = response.status();
        if status.is_success() {
            return self.read_body(response, request.limit).await;
        }
        self.check_hub(status).await?;
        Err(self.explain(request.subject, response).await)
    }

    /// Fails if the response came from the Hub, or from another server of the same user, because this one is stopped.
    ///
    /// The proxy then sends requests to the Hub, which redirects a GET but responds 403 to a change. Requests for a
    /// named server go to the user's default server if that is running, which responds 404. For example, with
    /// `/user/ada/gpu/` stopped, `GET /user/ada/gpu/api/contents/x.ipynb` responds 404 as if the file were missing; then
    /// `GET /user/ada/gpu/api` fails too, which shows that the server is stopped.
    pub(crate) async fn check_hub(&self, status: StatusCode) -> Result<()> {
        let is_ambiguous = match self.hub() {
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

    /// Explains a response that is not a success.
    pub(crate) async fn explain(&self, subject: &str, response: Response) -> RestError {
        let status = response.status();
        let location =
            response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = self.read_body(response, body::MAX_FAILURE_BYTES).await.unwrap_or_default();
        let request =
            FailedRequest { base: &self.inner.base, authentication: self.authentication(), subject };
        let error = diagnosis::of_response(
            &request,
            &FailedResponse { status, location: location.as_deref(), body: &body },
        );
        if error.kind == Kind::Unauthorized { self.explain_refusal(error).await } else { error }
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
            return diagnosis::not_jupyter(&self.inner.base);
        }
        let server = origin_and_path(&self.inner.base);
        RestError::new(
            Kind::Malformed,
            format!("{server} sent a response for {subject} that is not Jupyter's: {error}."),
            "Check that the address is the base URL of a Jupyter server, and that the server is up to date.",
        )
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("base", &self.inner.base.as_str()).finish_non_exhaustive()
    }
}

/// A request without a response.
struct Failure {
    error: RestError,
    /// Whether an existing connection broke.
    broke: bool,
}

impl From<RestError> for Failure {
    fn from(error: RestError) -> Self {
        Self { error, broke: false }
    }
}

fn authorization(token: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("token {token}")).map_err(|_| {
        RestError::new(
            Kind::Unauthorized,
            "The token contains characters that cannot be sent.",
            "Copy it again: it is one word of letters and digits.",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether the response requires a login.
fn needs_login(response: &Response) -> bool {
    let to_login = || {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        location.is_some_and(|location| location.contains("/login"))
    };
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        status => status.is_redirection() && to_login(),
    }
}

#[cfg(test)]
mod tests;
