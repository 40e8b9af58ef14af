//! Whether the room is still that of the file at the path under which it was opened. A room follows its file.

use std::time::Duration;

use rest::{RestError, Want};
use tokio::time::{Instant, timeout};
use ydoc::Dialect;

use super::shared::Shared;

/// How long to wait for the answer; without one, all is taken to be as it was.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how long a room that tells nothing of renames (jupyter-server-documents) is believed to be where it was.
const BELIEVED: Duration = Duration::from_secs(2);

impl Shared {
    /// Whether another file has taken the path. The server is asked only if the room may be that of a file elsewhere.
    pub(super) async fn is_displaced(&self) -> bool {
        let Some(id) = self.doubted() else { return false };
        let is_displaced = timeout(PATIENCE, self.is_taken(&id)).await;
        let Ok(Ok(is_displaced)) = is_displaced else { return false };
        if is_displaced {
            tracing::info!(path = self.path, "another file has taken the notebook's path");
        } else {
            let mut state = self.state();
            state.is_doubted = false;
            state.located = Some(Instant::now());
        }
        is_displaced
    }

    /// The id of the room's file, if that may be elsewhere.
    fn doubted(&self) -> Option<String> {
        let is_elsewhere = self.renamed().is_some();
        let state = self.state();
        let is_silent = self.dialect == Dialect::ServerDocuments
            && state.located.is_none_or(|located| located.elapsed() > BELIEVED);
        state.file_id.clone().filter(|_| is_elsewhere || is_silent || state.is_doubted)
    }

    async fn is_taken(&self, id: &str) -> Result<bool, RestError> {
        let server = self.link.server().await?;
        if server.file_path(id).await?.is_some_and(|path| path == self.path) {
            return Ok(false);
        }
        // Ids are given for what is not there as well.
        if server.contents(&self.path, Want::Meta).await.is_err() {
            return Ok(false);
        }
        let there = match self.dialect {
            Dialect::Collaboration => {
                server.collaboration_session(&self.path).await?.map(|session| session.file_id)
            }
            Dialect::ServerDocuments => server.file_id(&self.path).await?,
        };
        Ok(there.is_some_and(|there| there != id))
    }
}
