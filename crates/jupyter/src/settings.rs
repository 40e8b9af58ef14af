//! What the operator of the program has set about servers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::ConnectionInfo;
use rest::{Credentials, Options};

/// Where a server is.
#[derive(Clone)]
pub enum Source {
    /// It was named.
    Given {
        /// Its address, as people paste it.
        url: String,
        /// What to show it.
        credentials: Credentials,
    },
    /// The newest that leaves its file in Jupyter's runtime folder is taken.
    Discover(PathBuf),
}

/// How to reach the servers that make up one place.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server that holds the notebooks.
    pub documents: Source,
    /// The server that runs the kernels, if that is another. What one is shown is never shown to the other.
    pub kernels: Option<Source>,
    /// The pause before a room whose connection was lost is entered again; without one it grows with each attempt.
    pub reconnect: Option<Duration>,
    /// Certificates, proxies, the `User-Agent`.
    pub options: Options,
    /// What the paths of the place begin with where they are shown; empty for the first place of a program.
    pub prefix: String,
    /// The notebook that agents mean if they name none.
    pub notebook: Option<String>,
    /// The kernel to use for whatever names no other.
    pub kernel: Option<String>,
    /// What can be reached without the server between; of the servers to whose users' identities are forwarded.
    pub direct: Option<Arc<dyn Direct>>,
    /// What the server of the notebooks is known not to have, and is not asked for.
    pub lacks: Lacks,
}

/// What servers need not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacks {
    /// Rooms in which notebooks are edited together.
    pub rooms: bool,
    /// jupyterlab-commands-toolkit.
    pub commands: bool,
}

/// Knows where a server's kernels listen and its files lie, because it lives in it.
pub trait Direct: fmt::Debug + Send + Sync {
    /// The kernels, as `GET /api/kernels` would list them; `None` if only the server may or can tell.
    fn kernels(&self) -> BoxFuture<'_, Option<String>>;

    /// The sockets of a kernel; `None` if only the server reaches them.
    fn connection<'a>(&'a self, kernel: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>>;

    /// The file of a notebook, by its path from the server's root; `None` if only the server can read it.
    fn file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Option<PathBuf>>;
}

// The address may hold a token.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given { credentials, .. } => {
                f.debug_struct("Given").field("credentials", credentials).finish_non_exhaustive()
            }
            Self::Discover(runtime) => f.debug_tuple("Discover").field(runtime).finish(),
        }
    }
}
