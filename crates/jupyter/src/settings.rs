//! What the operator has configured for servers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::ConnectionInfo;
use rest::discovery::Discovery;
use rest::{Credentials, Options};

/// Where a server is.
#[derive(Clone)]
pub enum Source {
    /// The server at this address.
    Given {
        /// As people paste it.
        url: String,
        credentials: Credentials,
    },
    /// A server that is running on this machine.
    Discover(Discovery),
}

/// How to reach the servers that make up one place.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server that holds the notebooks.
    pub documents: Source,
    /// The server that runs the kernels, if that is another one. Credentials of one are never sent to the other.
    pub kernels: Option<Source>,
    /// The pause before a lost connection to a room is made again. Without one, the pause grows with each attempt.
    pub reconnect: Option<Duration>,
    /// Certificates, proxies, the `User-Agent`.
    pub options: Options,
    /// The prefix of the place's paths where they are shown; empty for the first place of a program.
    pub prefix: String,
    /// The notebook that is used if an agent names none.
    pub notebook: Option<String>,
    /// The kernel that is used if an agent names no other.
    pub kernel: Option<String>,
    /// Access to the server in whose process we live. Used for servers to which users' identities are forwarded.
    pub in_process: Option<Arc<dyn InProcessServer>>,
    /// The folder in which runs are logged, so that they are found again after a restart. `None` if they are not.
    pub run_logs: Option<PathBuf>,
    /// What the server of the notebooks may have.
    pub capabilities: Capabilities,
    /// If the server is on a machine that somebody has for a while.
    pub machine: Option<Machine>,
}

/// A machine that somebody has for a while, with a Jupyter server on it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The [scheme](place::Place::scheme) of its paths.
    pub scheme: &'static str,
    /// Its name, anywhere in a sentence: `Colab machine a1 (T4 GPU)`.
    pub title: String,
    /// The folder that its paths start from, below the root of its server: `content`.
    pub root: &'static str,
    /// The folder of this computer in which its notebooks are kept, so that they outlive the machine. `None` if they are not.
    pub copies: Option<PathBuf>,
}

/// Extensions that a server may have. One that it is known to lack is never asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Rooms in which notebooks are edited together.
    pub rooms: bool,
    /// jupyterlab-commands-toolkit.
    pub commands: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { rooms: true, commands: true }
    }
}

/// Access to the Jupyter server in whose process we live: where its kernels listen, and where its files are.
pub trait InProcessServer: fmt::Debug + Send + Sync {
    /// The kernels as JSON, as `GET /api/kernels` lists them. `None` if the server has to be asked.
    fn kernels(&self) -> BoxFuture<'_, Option<String>>;

    /// The sockets of a kernel. `None` if they can be reached only through the server.
    fn connection<'a>(&'a self, kernel: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>>;

    /// The file of a notebook, by its path from the server's root. `None` if only the server can read it.
    fn file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<PathBuf>>;
}

// The address may hold a token.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given { credentials, .. } => {
                f.debug_struct("Given").field("credentials", credentials).finish_non_exhaustive()
            }
            Self::Discover(discovery) => f.debug_tuple("Discover").field(discovery).finish(),
        }
    }
}
