//! The HTTP client of one server: certificates, proxies, bounds.

use std::sync::Arc;
use std::time::Duration;

use reqwest::cookie::Jar;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, NoProxy, Proxy, redirect};
use url::{Host, Url};

use crate::options::CONNECT_TIMEOUT;
use crate::{Kind, NextStep, Options, PrivateSocket, Proxies, RestError, Result, Secret};

/// What `private_socket.py` wants.
pub(crate) const SECRET_HEADER: &str = "x-cellbridge-secret";

/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a connection may be silent until TCP checks that the other end is alive.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Creates a client for `base` that keeps up to `idle` unused connections, and cookies if there is a `jar` for them.
/// Contacts nothing.
pub(crate) fn build(base: &Url, jar: Option<&Arc<Jar>>, options: &Options, idle: usize) -> Result<Client> {
    let is_direct = options.private_socket.is_some() || is_loopback(base);
    let proxies = if is_direct { Vec::new() } else { proxies(&options.proxies)? };
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
        Some(PrivateSocket::Port(secret)) => client = client.default_headers(secret_header(secret)?),
        None => {}
    }
    if let Some(jar) = jar {
        client = client.cookie_provider(Arc::clone(jar));
    }
    for proxy in proxies {
        client = client.proxy(proxy);
    }
    // reqwest needs a provider; if another crate installed one, that one is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    client = match &options.ca_file {
        Some(_) if base.scheme() != "https" => client,
        Some(file) => client.tls_certs_merge(certificates(file)?),
        None => client,
    };
    if is_plain(base, &options.proxies) {
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
            NextStep::GiveCertificate,
        )
        .with_source(error)
    })
}

fn secret_header(secret: &Secret) -> Result<HeaderMap> {
    let mut value = HeaderValue::from_str(secret.expose())
        .map_err(|_| RestError::defect(Kind::Address, "The secret cannot be sent in a header."))?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(HeaderName::from_static(SECRET_HEADER), value)]))
}

fn is_loopback(base: &Url) -> bool {
    match base.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Whether no connection to `base` can need TLS.
fn is_plain(base: &Url, proxies: &Proxies) -> bool {
    let is_secure =
        |proxy: &Option<String>| proxy.as_deref().is_some_and(|proxy| proxy.starts_with("https:"));
    base.scheme() == "http"
        && (is_loopback(base) || ![&proxies.http, &proxies.https, &proxies.all].into_iter().any(is_secure))
}

fn certificates(file: &std::path::Path) -> Result<Vec<Certificate>> {
    let unusable = |why: String| {
        RestError::new(
            Kind::Tls,
            format!("The certificates in {} cannot be used: {why}.", file.display()),
            NextStep::GiveCertificate,
        )
    };
    let text = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
    let certificates =
        Certificate::from_pem_bundle(&text).map_err(|_| unusable("it is not PEM".to_owned()))?;
    if certificates.is_empty() {
        return Err(unusable("it contains none".to_owned()));
    }
    Ok(certificates)
}

fn proxies(proxies: &Proxies) -> Result<Vec<Proxy>> {
    // Addresses of proxies contain passwords: do not repeat them.
    let unusable = |name: &str| {
        RestError::new(
            Kind::Address,
            format!("The address of the proxy for {name} connections cannot be used."),
            "Give it as http://host:port.",
        )
    };
    let no_proxy = proxies.no_proxy.as_deref().and_then(NoProxy::from_string);
    let mut list = Vec::new();
    let given = [("http", &proxies.http), ("https", &proxies.https), ("all", &proxies.all)];
    for (name, address) in given {
        let Some(address) = address.as_deref().filter(|address| !address.is_empty()) else { continue };
        let proxy = match name {
            "http" => Proxy::http(address),
            "https" => Proxy::https(address),
            _ => Proxy::all(address),
        };
        list.push(proxy.map_err(|_| unusable(name))?.no_proxy(no_proxy.clone()));
    }
    Ok(list)
}
