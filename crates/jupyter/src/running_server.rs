//! Chooses among the servers that are running on this machine.

use place::Discovered;
use rest::discovery::{self, Discovery};
use rest::{Address, Credentials, Kind, NextStep, Options, RestError, Server};

/// A running server that answers.
#[derive(Clone)]
pub(crate) struct RunningServer {
    pub(crate) server: Server,
    /// Contains the token.
    pub(crate) address: Address,
    /// How it was chosen.
    pub(crate) discovered: Discovered,
}

/// The first running server that answers.
pub(crate) async fn discover(discovery: &Discovery, options: &Options) -> rest::Result<RunningServer> {
    let discovery = discovery.clone();
    let running =
        tokio::task::spawn_blocking(move || discovery::running(&discovery)).await.unwrap_or_default();
    let others = running.len().saturating_sub(1);
    let mut problem = RestError::new(
        Kind::Unreachable,
        "No Jupyter server of this user is running on this machine.",
        NextStep::GiveAddress,
    );
    for found in running {
        let server = Server::new(&found.address, Credentials::None, options)?;
        match server.status().await {
            Ok(_) => {
                let root = found.root;
                tracing::info!(server = %server.base(), root = %root.display(), others, "found a running server");
                let discovered = Discovered { root, others };
                return Ok(RunningServer { server, address: found.address, discovered });
            }
            Err(error) => problem = error,
        }
    }
    Err(problem)
}
