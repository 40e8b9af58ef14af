//! Whether a server is running and accepts our credentials.

use serde::Deserialize;

use crate::auth::denial::explain;
use crate::hub::address::HubServer;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, diagnosis};

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Server {
    /// The server's version, if it accepts our credentials: the version needs no authentication, the status does.
    pub async fn status(&self) -> Result<String> {
        let version = self.version().await?;
        // Kernel Gateway has no `/api/status`.
        if self.ask_for(&Request::get("api/status", "status")).await?.is_none() {
            self.kernels().await?;
        }
        Ok(version)
    }

    /// The server's version. Needs no authentication.
    pub(crate) async fn version(&self) -> Result<String> {
        let request = Request::get("api", "API");
        let response = self.send(&request).await?;
        if !response.status().is_success() {
            return match (explain(self.sender(), request.subject, response).await, HubServer::of(self.base()))
            {
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
