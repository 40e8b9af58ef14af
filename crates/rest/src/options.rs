//! How servers are reached: credentials, certificates, proxies.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use connection::NetworkTimeout;
use url::Url;

use crate::{Forwarded, Secret, ServerProxy, TokenIssuer};

/// How long a connection may take, including TLS and proxy.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How to authenticate to a server.
#[derive(Debug, Clone, Default)]
pub enum Credentials {
    /// None. A token in the address is used.
    #[default]
    None,
    /// A token, sent in the `Authorization` header of each request.
    Token(Secret),
    /// The password for the login page, which sets cookies for the other requests.
    Password(Secret),
    /// The headers of an agent's request to the same server, in whose process we run.
    Forwarded(Arc<Forwarded>),
    /// Tokens that are replaced from time to time, in the header that their issuer names. They reach the server's proxy only.
    Issued(Arc<dyn TokenIssuer>),
}

/// Settings of connections.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Certificates (PEM) that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    pub proxies: Proxies,
    /// The `User-Agent` of every request.
    pub agent: String,
    /// How the server in whose process we run is reached; only for [`Credentials::Forwarded`].
    pub private_socket: Option<PrivateSocket>,
    /// How long the server may take to start an answer, and to go on with it.
    pub network_timeout: NetworkTimeout,
}

impl Options {
    /// The proxy for the server at `base`.
    pub(crate) fn proxy(&self, base: &Url) -> Option<ServerProxy<'_>> {
        if self.private_socket.is_some() { None } else { self.proxies.for_server(base) }
    }
}

/// Where the server in whose process we run listens for us alone.
#[derive(Debug, Clone)]
pub enum PrivateSocket {
    /// A Unix socket, whatever the address says.
    #[cfg(unix)]
    Unix(PathBuf),
    /// The port of the address. It answers requests that carry this secret.
    Port(Secret),
}

/// Proxies, as in `HTTP_PROXY` and its siblings. Servers of this machine never use one.
#[derive(Clone, Default)]
pub struct Proxies {
    /// For `http:` addresses.
    pub http: Option<String>,
    /// For `https:` addresses.
    pub https: Option<String>,
    /// For all others.
    pub all: Option<String>,
    /// Hosts that never use a proxy, as in `NO_PROXY`.
    pub no_proxy: Option<String>,
}

// Addresses of proxies contain passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
