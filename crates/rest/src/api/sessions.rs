//! Jupyter's sessions: which kernel belongs to which notebook.

use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use super::lenient;
use crate::request::{KERNEL_TIMEOUT, Request};
use crate::{KernelModel, Kind, RestError, Result, Server, path};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionModel {
    pub id: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub path: String,
    /// The notebook's file name, unless the session was created with another name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// `notebook`, `console`, `file`.
    #[serde(rename = "type", default, deserialize_with = "lenient::text")]
    pub kind: String,
    /// `None` if the kernel died and was not replaced.
    #[serde(default)]
    pub kernel: Option<KernelModel>,
}

#[derive(Debug, Clone)]
pub struct NewSession {
    pub path: String,
    pub kernel: SessionKernel,
}

/// The kernel of a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionKernel {
    /// A new one of the server's default kernelspec.
    Default,
    /// A new one of this kernelspec.
    Named(String),
    /// A running kernel, by its id.
    Running(String),
}

/// A change of a session. `None` keeps the current value.
#[derive(Debug, Clone, Default)]
pub struct SessionChange {
    pub path: Option<String>,
    /// The server shuts down the previous kernel.
    pub kernel: Option<SessionKernel>,
}

#[derive(Serialize, Default)]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<BodyKernel>,
}

#[derive(Serialize)]
struct BodyKernel {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl From<SessionKernel> for BodyKernel {
    fn from(kernel: SessionKernel) -> Self {
        match kernel {
            SessionKernel::Default => Self { id: None, name: None },
            SessionKernel::Named(name) => Self { id: None, name: Some(name) },
            SessionKernel::Running(id) => Self { id: Some(id), name: None },
        }
    }
}

fn body(path: Option<String>, kernel: Option<SessionKernel>) -> Body {
    let path = path.map(|path| path.trim_matches('/').to_owned());
    // jupyter-server-documents finds a room's kernel by the session whose name is the file name.
    let name = path.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    Body { path, name, kind: "notebook", kernel: kernel.map(BodyKernel::from) }
}

impl Server {
    pub async fn sessions(&self) -> Result<Vec<SessionModel>> {
        self.fetch(&Request::get("api/sessions", "list of sessions")).await
    }

    /// Creates a session with a kernel for a notebook. If the notebook has one, the server returns that and starts nothing.
    pub async fn create_session(&self, new: NewSession) -> Result<SessionModel> {
        if let SessionKernel::Running(id) = &new.kernel {
            self.check_running(id).await?;
        }
        let subject = format!("session of {:?}", new.path);
        let body = body(Some(new.path), Some(new.kernel));
        let request = Request::new(Method::POST, "api/sessions", &subject).json(&body)?;
        // The server has one session for each path.
        self.fetch(&request.timeout(KERNEL_TIMEOUT).idempotent()).await
    }

    pub async fn change_session(&self, id: &str, change: SessionChange) -> Result<SessionModel> {
        if let Some(SessionKernel::Running(id)) = &change.kernel {
            self.check_running(id).await?;
        }
        let subject = subject(id);
        let body = body(change.path, change.kernel);
        let request = Request::new(Method::PATCH, at(id)?, &subject).json(&body)?;
        self.fetch(&request.timeout(KERNEL_TIMEOUT)).await
    }

    /// Fails if the kernel is not running. The server does not check this: for an unknown id, it starts a new kernel with
    /// that id.
    async fn check_running(&self, kernel: &str) -> Result<()> {
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
        let response = self.send(&request).await?;
        // 410: the kernel had ended before the session.
        if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE) {
            return self.check_hub(response.status()).await;
        }
        self.finish(&request, response).await.map(drop)
    }
}

fn subject(id: &str) -> String {
    format!("session {id:?}")
}

fn at(id: &str) -> Result<String> {
    Ok(format!("api/sessions/{}", path::part(id)?))
}
