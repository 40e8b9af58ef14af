//! Connects to servers, each of which is a place.

use std::path::PathBuf;
use std::sync::Arc;

use connection::Secret;

use crate::Future;
use crate::place::Place;

/// Connects to servers that agents name.
pub trait Connector: Send + Sync + 'static {
    /// The [scheme](Place::scheme) of its servers.
    fn scheme(&self) -> &'static str {
        ""
    }

    /// Connects to a server. Connecting to the same server again returns the same place.
    fn connect(&self, spec: ServerSpec) -> Future<'_, Connected>;
}

/// A place that was connected to.
#[derive(Clone)]
pub struct Connected {
    pub place: Arc<dyn Place>,
    /// How its server was chosen, if no address was given.
    pub discovered: Option<Discovered>,
}

/// A running server that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// The folder that it serves.
    pub root: PathBuf,
    /// How many other servers of this user are running.
    pub others: usize,
}

/// A server to connect to.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// The address, as people paste it; `None` for one that is running on this machine.
    pub url: Option<String>,
    /// `None` if the address contains it, or none is needed.
    pub token: Option<Secret>,
    /// The kind of server; connectors define the names.
    pub provider: Option<String>,
    /// The address and token of another server that runs the kernels.
    pub kernels: Option<(String, Option<Secret>)>,
}
