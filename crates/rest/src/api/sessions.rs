//! Jupyter's sessions: which kernel belongs to which notebook.

use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lenient;
use crate::request::{KERNEL_TIMEOUT, Request};
use crate::{KernelModel, Kind, RestError, Result, Server, path};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionModel {
    pub id: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub path: String,
    /// `None` if the kernel died and was not replaced.
    #[serde(default)]
    pub kernel: Option<KernelModel>,
}

/// The kernel of a new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SessionKernel {
    /// A new one of this kernelspec.
    #[serde(rename = "name")]
    Named(String),
    /// A running kernel, by its id.
    #[serde(rename = "id")]
    Running(String),
}

impl Server {
    pub async fn sessions(&self) -> Result<Vec<SessionModel>> {
        self.fetch(&Request::get("api/sessions", "list of sessions")).await
    }

    /// Creates a session with a kernel for a notebook. If the notebook has one, the server returns that and starts nothing.
    pub async fn create_session(&self, path: &str, kernel: &SessionKernel) -> Result<SessionModel> {
        self.check_running(kernel).await?;
        let subject = format!("session of {path:?}");
        let path = path.trim_matches('/');
        // jupyter-server-documents finds a room's kernel by the session whose name is the file name.
        let name = path.rsplit('/').next();
        let body = json!({ "path": path, "name": name, "type": "notebook", "kernel": kernel });
        let request = Request::new(Method::POST, "api/sessions", &subject).json(&body)?;
        // The server has one session for each path.
        self.fetch(&request.timeout(KERNEL_TIMEOUT).idempotent()).await
    }

    /// Gives a session another kernel. The server shuts down the previous one.
    pub async fn change_session(&self, id: &str, kernel: &SessionKernel) -> Result<SessionModel> {
        self.check_running(kernel).await?;
        let subject = subject(id);
        let body = json!({ "type": "notebook", "kernel": kernel });
        let request = Request::new(Method::PATCH, at(id)?, &subject).json(&body)?;
        self.fetch(&request.timeout(KERNEL_TIMEOUT)).await
    }

    /// Fails if a running kernel is meant that does not run. The server does not check this: for an unknown id, it starts a new kernel with
    /// that id.
    async fn check_running(&self, kernel: &SessionKernel) -> Result<()> {
        let SessionKernel::Running(kernel) = kernel else { return Ok(()) };
        self.kernel(kernel).await?.map(drop).ok_or_else(|| {
            RestError::new(
                Kind::NotFound,
                format!(
                    "{} no longer has a kernel {kernel:?}.",
                    crate::address::origin_and_path(self.base())
                ),
                "Use a running kernel, or start a new one.",
            )
        })
    }

    /// Ends a session and its kernel. Succeeds if the session does not exist.
    pub async fn delete_session(&self, id: &str) -> Result<()> {
        let subject = subject(id);
        let request = Request::new(Method::DELETE, at(id)?, &subject);
        // 410: the kernel had ended before the session.
        self.ask_unless(&request, &[StatusCode::NOT_FOUND, StatusCode::GONE]).await.map(drop)
    }
}

fn subject(id: &str) -> String {
    format!("session {id:?}")
}

fn at(id: &str) -> Result<String> {
    Ok(format!("api/sessions/{}", path::part(id)?))
}
