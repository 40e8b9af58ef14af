//! The running kernels of a server.

use reqwest::Method;
use serde::Deserialize;

use super::lenient;
use crate::request::{KERNEL_TIMEOUT, Request};
use crate::{Result, Server, path};

/// A running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KernelModel {
    pub id: String,
    /// The name of its kernelspec.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// When it was last active (ISO 8601).
    #[serde(default)]
    pub last_activity: Option<String>,
    /// `idle`, `busy`, `starting`, `restarting`, `dead`, …
    #[serde(default)]
    pub execution_state: Option<String>,
    /// The number of connected clients.
    #[serde(default, deserialize_with = "lenient::count")]
    pub connections: Option<u64>,
}

impl Server {
    pub async fn kernels(&self) -> Result<Vec<KernelModel>> {
        self.fetch(&Request::get("api/kernels", "list of kernels")).await
    }

    /// One kernel. `None` if it is not running.
    pub async fn kernel(&self, id: &str) -> Result<Option<KernelModel>> {
        let subject = subject(id);
        let body = self.ask_for(&Request::get(at(id, "")?, &subject)).await?;
        body.map(|body| self.parse(&body, &subject)).transpose()
    }

    /// Starts a kernel without a session. `name` is the kernelspec's name (default: the server's default); `folder` is the
    /// kernel's working folder, relative to the server's root.
    pub async fn start_kernel(&self, name: Option<&str>, folder: Option<&str>) -> Result<KernelModel> {
        let mut body = serde_json::Map::new();
        body.extend(name.map(|name| ("name".to_owned(), name.into())));
        body.extend(folder.map(|folder| ("path".to_owned(), folder.into())));
        let request = Request::new(Method::POST, "api/kernels", "new kernel").json(&body)?;
        self.fetch(&request.timeout(KERNEL_TIMEOUT)).await
    }

    pub async fn interrupt_kernel(&self, id: &str) -> Result<()> {
        let subject = subject(id);
        self.ask(&Request::new(Method::POST, at(id, "/interrupt")?, &subject).idempotent()).await.map(drop)
    }

    /// Restarts a kernel. Returns when it is running again.
    pub async fn restart_kernel(&self, id: &str) -> Result<KernelModel> {
        let subject = subject(id);
        self.fetch(&Request::new(Method::POST, at(id, "/restart")?, &subject).timeout(KERNEL_TIMEOUT)).await
    }

    /// Shuts a kernel down. Succeeds if it does not exist.
    pub async fn delete_kernel(&self, id: &str) -> Result<()> {
        let subject = subject(id);
        let request = Request::new(Method::DELETE, at(id, "")?, &subject);
        self.ask_for(&request).await.map(drop)
    }
}

/// The path of a kernel's channels, for [`Server::websocket`]. A reconnect with the same `session_id` receives the messages
/// that the server has buffered since the disconnect.
pub fn channels_path(kernel_id: &str, session_id: &str) -> Result<String> {
    Ok(format!("{}?session_id={}", at(kernel_id, "/channels")?, path::part(session_id)?))
}

fn subject(id: &str) -> String {
    format!("kernel {id:?}")
}

fn at(id: &str, action: &str) -> Result<String> {
    Ok(format!("api/kernels/{}{action}", path::part(id)?))
}
