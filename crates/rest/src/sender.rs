//! Sends requests with our credentials, without logging in.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::cookie::{CookieStore as _, Jar};
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use reqwest::{Client, Response};
use tokio::sync::OnceCell;
use url::Url;

use crate::diagnosis;
use crate::request::Request;
use crate::{Credentials, Kind, NextStep, Options, RestError, Result, Secret, body, client};

/// The connections, cookies and credentials of one server.
pub(crate) struct Sender {
    pub(crate) base: Url,
    pub(crate) credentials: Credentials,
    pub(crate) options: Options,
    jar: Arc<Jar>,
    /// The token that was issued last.
    issued: Mutex<Option<Secret>>,
    /// Created for the first request: reading the system's certificates takes 15 ms.
    client: OnceCell<Client>,
    /// For web sockets. It reuses no connection: a proxy closes one whose upgrade was refused, so the next request on it
    /// would fail.
    sockets: OnceCell<Client>,
}

impl Sender {
    /// Fails if the token cannot be sent.
    pub(crate) fn new(base: Url, credentials: Credentials, options: Options) -> Result<Self> {
        if let Credentials::Token(token) = &credentials {
            authorization(token.expose())?;
        }
        let (jar, issued, client, sockets) = Default::default();
        Ok(Self { base, credentials, options, jar, issued, client, sockets })
    }

    /// Sends this token from now on.
    pub(crate) fn use_issued(&self, token: &Secret) {
        *self.issued.lock() = Some(token.clone());
    }

    pub(crate) fn issued(&self) -> Option<Secret> {
        self.issued.lock().clone()
    }

    /// The value of the cookie `_xsrf`.
    pub(crate) fn xsrf(&self) -> Option<String> {
        let cookies = self.jar.cookies(&self.base)?;
        let cookies = cookies.to_str().ok()?;
        cookies.split("; ").find_map(|cookie| cookie.strip_prefix("_xsrf=")).map(str::to_owned)
    }

    /// The URL of `path`, which is relative to the base and encoded.
    pub(crate) fn url(&self, path: &str) -> Result<Url> {
        let url = self.base.join(&format!("./{path}")).ok();
        url.filter(|url| url.path().starts_with(self.base.path()))
            .ok_or_else(|| RestError::defect(Kind::Address, "The request would leave the server's base URL."))
    }

    /// Sends a request, and again if the connection broke and the request is idempotent.
    pub(crate) fn attempt<'s>(
        &'s self,
        request: &'s Request<'_>,
        url: Url,
    ) -> BoxFuture<'s, Result<Response>> {
        // Boxed, so that its code is not again in each crate that sends a request.
        Box::pin(async move {
            match self.once(request, url.clone()).await? {
                // A restarted server has closed our unused connections; the first request notices.
                Err(error) if request.is_idempotent => {
                    tracing::debug!(cause = error.cause, "trying once more");
                    self.once(request, url).await?
                }
                response => response,
            }
        })
    }

    /// Sends a request. The inner error is that of an existing connection that broke.
    async fn once(&self, request: &Request<'_>, url: Url) -> Result<Result<Response>> {
        let Self { base, jar, options, client, sockets, .. } = self;
        // The server turns a token into a login cookie that survives revoking the token: with it, reads would succeed and
        // changes fail. Forwarded headers may contain cookies already.
        let has_jar = matches!(self.credentials, Credentials::None | Credentials::Password(_));
        let jar = has_jar.then_some(jar);
        let client = if request.is_upgrade {
            sockets.get_or_try_init(|| async { client::build(base, jar, options, 0) }).await?
        } else {
            client.get_or_try_init(|| async { client::build(base, jar, options, usize::MAX) }).await?
        };
        let mut builder = client.request(request.method.clone(), url);
        builder = match &self.credentials {
            Credentials::Token(token) => builder.header(AUTHORIZATION, authorization(token.expose())?),
            Credentials::Forwarded(forwarded) => builder.headers(forwarded.headers()),
            Credentials::Issued(issuer) => match &*self.issued.lock() {
                Some(token) => {
                    let (name, value) = issuer.client();
                    builder.header(issuer.header(), client::sensitive(token.expose())?).header(name, value)
                }
                None => builder,
            },
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
            Ok(Ok(response)) => Ok(Ok(response)),
            Ok(Err(error)) => {
                let broke = error.is_request() && !error.is_connect() && !error.is_timeout();
                let mut error = diagnosis::unreached(error, &self.base, options.proxy(base));
                if let NextStep::GiveCertificate { given } = &mut error.next {
                    given.clone_from(&self.options.ca_file);
                }
                if broke { Ok(Err(error)) } else { Err(error) }
            }
            Err(_) => Err(diagnosis::timed_out(&self.base, timeout)),
        }
    }

    /// Reads a response body of at most `limit` bytes.
    pub(crate) async fn read_body(&self, response: Response, limit: usize) -> Result<Bytes> {
        body::read(response, &self.base, limit, self.options.network_timeout).await
    }

    /// Reads the body of a failed response, without our credentials: a server may quote the request.
    pub(crate) async fn read_failure(&self, response: Response) -> Bytes {
        let body = self.read_body(response, body::MAX_FAILURE_BYTES).await.unwrap_or_default();
        let secrets = match &self.credentials {
            Credentials::None => Vec::new(),
            Credentials::Token(secret) | Credentials::Password(secret) => vec![secret.expose().to_owned()],
            Credentials::Forwarded(forwarded) => {
                let headers = forwarded.headers();
                let secrets = headers.iter().filter(|(name, _)| *name != HOST);
                secrets.filter_map(|(_, value)| value.to_str().ok()).map(str::to_owned).collect()
            }
            Credentials::Issued(_) => {
                self.issued.lock().iter().map(|token| token.expose().to_owned()).collect()
            }
        };
        let secrets = secrets.iter().filter(|secret| !secret.is_empty());
        let text = String::from_utf8_lossy(&body).into_owned();
        secrets.fold(text, |text, secret| text.replace(secret.as_str(), "…")).into()
    }
}

fn authorization(token: &str) -> Result<HeaderValue> {
    client::sensitive(&format!("token {token}"))
}
