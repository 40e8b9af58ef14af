//! Whether a server is running and accepts our credentials.

use serde::Deserialize;

use super::lenient;
use crate::auth::denial::explain;
use crate::hub::address::HubServer;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, diagnosis};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The version of Jupyter Server.
    pub version: String,
    /// When it was started (ISO 8601).
    pub started: Option<String>,
    /// When it was last active (ISO 8601).
    pub last_activity: Option<String>,
    /// The number of clients connected to its kernels.
    pub connections: Option<u64>,
    /// The number of running kernels.
    pub kernels: Option<u64>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Figures {
    started: Option<String>,
    last_activity: Option<String>,
    #[serde(default, deserialize_with = "lenient::count")]
    connections: Option<u64>,
    kernels: Option<u64>,
}

impl Server {
    /// Requests the server's version, which needs no authentication, and then its status, which does.
    pub async fn status(&self) -> Result<Status> {
        let version = self.version().await?;
        let subject = "status";
        let known = self.ask_for(&Request::get("api/status", subject)).await?;
        // Kernel Gateway has no `/api/status`.
        let Some(known) = known else {
            let kernels = self.kernels().await?;
            return Ok(Status { version, kernels: Some(kernels.len() as u64), ..Status::default() });
        };
        let Figures { started, last_activity, connections, kernels } = self.parse(&known, subject)?;
        Ok(Status { version, started, last_activity, connections, kernels })
    }

    /// The server's version. Needs no authentication.
    pub(crate) async fn version(&self) -> Result<String> {
        let request = Request::get("api", "API");
        let response = self.send(&request).await?;
        if !response.status().is_success() {
            return match (explain(self.sender(), request.subject, response).await, self.hub()) {
                // A stopped named server: the proxy sent the request to the user's default server.
                (RestError { kind: Kind::NotFound, .. }, Some(HubServer { name: Some(_), .. })) => {
                    Err(diagnosis::stopped(self.base()))
                }
                (RestError { kind: Kind::NotFound | Kind::Unsupported, .. }, _) => {
                    Err(diagnosis::not_jupyter(self.base()))
                }
                (error, _) => Err(error),
            };
        }
        let body = self.sender().read_body(response, request.limit).await?;
        let version: Result<Version, _> = serde_json::from_slice(&body);
        version.map(|Version { version }| version).map_err(|_| diagnosis::not_jupyter(self.base()))
    }
}
