//! Live documents: which of two extensions a server has, and where a notebook's room is.

use reqwest::{Method, StatusCode};
use serde::Deserialize;

use crate::server::Request;
use crate::{Result, Server, path};

/// A room of jupyter-collaboration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CollaborationSession {
    /// The file's id, which stays when it is renamed.
    #[serde(rename = "fileId")]
    pub file_id: String,
    /// What the room's WebSocket must show.
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
    /// Asks jupyter-collaboration for a notebook's room; `None` if the server has no such extension.
    ///
    /// A file that is not there gets a room as well: ask [`Server::contents`] first.
    pub async fn collaboration_session(&self, path: &str) -> Result<Option<CollaborationSession>> {
        let subject = format!("room of {path:?}");
        let request =
            Request::new(Method::PUT, format!("api/collaboration/session/{}", path::file(path)?), &subject)
                .json(&serde_json::json!({ "format": "json", "type": "notebook" }))?;
        self.optional(&request).await
    }

    /// Asks jupyter-server-fileid, which comes with jupyter-server-documents, for a file's id; `None` if the server has
    /// no such extension.
    pub async fn file_id(&self, path: &str) -> Result<Option<String>> {
        let subject = format!("id of {path:?}");
        let path = path::file(path)?;
        let request =
            Request::new(Method::POST, format!("api/fileid/index?path={path}"), &subject).idempotent();
        let indexed: Option<Indexed> = self.optional(&request).await?;
        Ok(indexed.map(|Indexed { id }| id))
    }

    /// Asks jupyter-server-fileid where the file with this id is now; `None` if the server does not know.
    pub async fn file_path(&self, id: &str) -> Result<Option<String>> {
        let subject = "path of a file's id";
        let request = Request::get(format!("api/fileid/path?id={}", path::part(id)?), subject);
        let located: Option<Located> = self.optional(&request).await?;
        Ok(located.map(|Located { path }| path.trim_matches('/').to_owned()).filter(|path| !path.is_empty()))
    }

    async fn optional<T: serde::de::DeserializeOwned>(&self, request: &Request<'_>) -> Result<Option<T>> {
        let response = self.send(request).await?;
        if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
            return self.check_hub(response.status()).await.map(|()| None);
        }
        let body = self.finish(request, response).await?;
        self.parse(&body, request.subject).map(Some)
    }
}

/// The path of a notebook's room, for [`Server::websocket`]. jupyter-collaboration wants the session's id,
/// jupyter-server-documents has none.
pub fn room_path(file_id: &str, session_id: Option<&str>) -> Result<String> {
    let room = format!("api/collaboration/room/json:notebook:{}", path::part(file_id)?);
    match session_id {
        Some(session_id) => Ok(format!("{room}?sessionId={}", path::part(session_id)?)),
        None => Ok(room),
    }
}
