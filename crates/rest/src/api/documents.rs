//! Live documents: the server's extension for them, and the address of a notebook's room.

use reqwest::{Method, StatusCode};
use serde::Deserialize;

use crate::request::Request;
use crate::{Result, Server, path};

/// A room of jupyter-collaboration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CollaborationSession {
    /// The file's id, which does not change when the file is renamed.
    #[serde(rename = "fileId")]
    pub file_id: String,
    /// The room's WebSocket requires it as a parameter.
    #[serde(rename = "sessionId")]
    pub session_id: String,
}

#[derive(Deserialize)]
struct Indexed {
    id: String,
}

#[derive(Deserialize)]
struct Located {
    path: String,
}

impl Server {
    /// Requests a notebook's room from jupyter-collaboration. `None` if the server does not have the extension.
    ///
    /// A missing file gets a room too: call [`Server::contents`] first.
    pub async fn collaboration_session(&self, path: &str) -> Result<Option<CollaborationSession>> {
        let subject = format!("room of {path:?}");
        let request =
            Request::new(Method::PUT, format!("api/collaboration/session/{}", path::file(path)?), &subject)
                .json(&serde_json::json!({ "format": "json", "type": "notebook" }))?;
        self.optional(&request).await
    }

    /// Requests a file's id from jupyter-server-fileid, which jupyter-server-documents installs. `None` if the server does
    /// not have the extension.
    pub async fn file_id(&self, path: &str) -> Result<Option<String>> {
        let subject = format!("id of {path:?}");
        let path = path::file(path)?;
        let request =
            Request::new(Method::POST, format!("api/fileid/index?path={path}"), &subject).idempotent();
        let indexed: Option<Indexed> = self.optional(&request).await?;
        Ok(indexed.map(|Indexed { id }| id))
    }

    /// Requests the current path of a file from jupyter-server-fileid. `None` if the id is unknown.
    pub async fn file_path(&self, id: &str) -> Result<Option<String>> {
        let subject = "path of a file's id";
        let request = Request::get(format!("api/fileid/path?id={}", path::part(id)?), subject);
        let located: Option<Located> = self.optional(&request).await?;
        Ok(located.map(|Located { path }| path.trim_matches('/').to_owned()).filter(|path| !path.is_empty()))
    }

    async fn optional<T: serde::de::DeserializeOwned>(&self, request: &Request<'_>) -> Result<Option<T>> {
        let body = self.ask_unless(request, &[StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED]).await?;
        body.map(|body| self.parse(&body, request.subject)).transpose()
    }
}

/// The path of a notebook's room, for [`Server::websocket`]. jupyter-collaboration requires the session's id;
/// jupyter-server-documents has none.
pub fn room_path(file_id: &str, session_id: Option<&str>) -> Result<String> {
    let room = format!("api/collaboration/room/json:notebook:{}", path::part(file_id)?);
    match session_id {
        Some(session_id) => Ok(format!("{room}?sessionId={}", path::part(session_id)?)),
        None => Ok(room),
    }
}
