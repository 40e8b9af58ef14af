//! The HTTP client of one server: certificates, proxies, bounds.

use std::sync::Arc;
use std::time::Duration;

use reqwest::cookie::Jar;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, redirect};
use url::Url;

use crate::options::CONNECT_TIMEOUT;
use crate::{Kind, NextStep, Options, PrivateSocket, RestError, Result, certificates};

/// What `private_socket.py` wants.
pub(crate) const SECRET_HEADER: &str = "x-cellbridge-secret";

/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a connection may be silent until TCP checks that the other end is alive.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Creates a client for `base` that keeps up to `idle` unused connections, and cookies if there is a `jar` for them.
/// Contacts nothing.
pub(crate) fn build(base: &Url, jar: Option<&Arc<Jar>>, options: &Options, idle: usize) -> Result<Client> {
    let proxy = options.proxy(base);
    let mut client = Client::builder()
        .user_agent(options.agent.as_str())
        .redirect(redirect::Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEPALIVE)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(idle)
        .http1_only()
        // Without this, the client would read the environment.
        .no_proxy();
    match &options.private_socket {
        #[cfg(unix)]
        Some(PrivateSocket::Unix(socket)) => client = client.unix_socket(socket.as_path()),
        Some(PrivateSocket::Port(secret)) => {
            let header = (HeaderName::from_static(SECRET_HEADER), sensitive(secret.expose())?);
            client = client.default_headers(HeaderMap::from_iter([header]));
        }
        None => {}
    }
    if let Some(jar) = jar {
        client = client.cookie_provider(Arc::clone(jar));
    }
    if let Some(proxy) = proxy {
        client = client.proxy(proxy.client()?);
    }
    // reqwest needs a provider; if another crate installed one, that one is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    client = match &options.ca_file {
        Some(_) if base.scheme() != "https" => client,
        Some(file) => client.tls_backend_preconfigured(certificates::trusting(file)?),
        None => client,
    };
    // No connection can need TLS.
    if base.scheme() == "http" && !proxy.is_some_and(|proxy| proxy.is_secure()) {
        // Reading the system's certificates takes milliseconds, and fails where there are none.
        client = client.tls_certs_only([]);
    }
    client.build().map_err(|error| {
        RestError::new(
            Kind::Tls,
            format!(
                "The certificates of this system cannot be used: {}.",
                crate::diagnosis::innermost(&error)
            ),
            NextStep::GiveCertificate { given: None },
        )
        .with_source(error)
    })
}

/// A header with a token.
pub(crate) fn sensitive(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        RestError::new(
            Kind::Unauthorized,
            "The token contains characters that cannot be sent.",
            "Copy it again: it is one word of letters and digits.",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}
