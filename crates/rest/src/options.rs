//! How servers are reached: credentials, certificates, proxies.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Forwarded, Secret};

/// How to show a server who we are.
#[derive(Debug, Clone, Default)]
pub enum Credentials {
    /// Nothing was given. The token of the address is used if it had one.
    #[default]
    None,
    /// A token, sent in the `Authorization` header of each request.
    Token(Secret),
    /// The password of the login page; what follows is done with its cookies.
    Password(Secret),
    /// What an agent showed the same server, which the program lives in.
    Forwarded(Arc<Forwarded>),
}

/// What the command line and the environment say about connections.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Certificates (PEM) that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The proxies to go through.
    pub proxies: Proxies,
    /// The `User-Agent` of every request.
    pub agent: String,
    /// The Unix socket that leads to a server that is shown what was forwarded, whatever its address says.
    pub unix_socket: Option<PathBuf>,
}

/// The proxies to go through, as `HTTP_PROXY` and its siblings have them. Loopback is always reached directly.
#[derive(Clone, Default)]
pub struct Proxies {
    /// For `http:` addresses.
    pub http: Option<String>,
    /// For `https:` addresses.
    pub https: Option<String>,
    /// For all others.
    pub all: Option<String>,
    /// Hosts that are reached directly, as `NO_PROXY` lists them.
    pub no_proxy: Option<String>,
}

// Addresses of proxies hold passwords.
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
