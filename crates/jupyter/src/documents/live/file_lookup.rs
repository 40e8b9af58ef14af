//! Asks the server where the file of an open document is.

use std::time::Duration;

use rest::{ContentsQuery, RestError};
use tokio::time::{Instant, timeout, timeout_at};

use super::room_address::ids;
use super::shared::Shared;

/// Time limit for asking the server; without an answer, the file counts as unmoved.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether another file is at the path under which this one was opened. The server is asked only if the location is not
/// verified.
pub(super) async fn is_displaced(shared: &Shared) -> bool {
    let id = {
        let state = shared.state();
        state.location.unverified(shared.dialect, state.replica.live.path())
    };
    let Some(id) = id else { return false };
    let Ok(Ok(is_displaced)) = timeout(SERVER_TIMEOUT, is_path_taken(shared, &id)).await else {
        return false;
    };
    if is_displaced {
        tracing::info!(path = shared.path, "another file is at the notebook's path");
    } else {
        shared.state().location.set_verified(true);
    }
    is_displaced
}

async fn is_path_taken(shared: &Shared, id: &str) -> Result<bool, RestError> {
    let server = shared.handle.server().await?;
    if server.file_path(id).await?.is_some_and(|path| path == shared.path) {
        return Ok(false);
    }
    // Servers assign ids to missing files too.
    if server.contents(&shared.path, ContentsQuery::Hash).await.is_err() {
        return Ok(false);
    }
    let there = ids(&server, shared.dialect, &shared.path).await?;
    Ok(there.is_some_and(|(there, _)| there != id))
}

/// Asks the server where the file is now. Returns whether that is another path than the one known so far.
/// jupyter-server-documents reports renames in no other way.
pub(super) async fn refresh(shared: &Shared, deadline: Instant) -> bool {
    let Some(id) = shared.state().location.id().map(str::to_owned) else { return false };
    let Ok(server) = shared.handle.server().await else { return false };
    let Ok(Ok(Some(path))) = timeout_at(deadline, server.file_path(&id)).await else { return false };
    let mut state = shared.state();
    let is_elsewhere = path != state.path_now();
    if is_elsewhere {
        tracing::info!(from = shared.path, to = path, "the notebook was renamed");
        state.location.set_moved(Some(path));
    }
    is_elsewhere
}
