//! Why a server cannot open a notebook as a room. The room says no more than "Error initializing", and the server knows the reason.

use notebook::Notebook;
use place::Error;
use rest::ContentsQuery;

use crate::server_handle::ServerHandle;

/// What jupyter-server-ydoc says when it closes a connection whose room it could not load (`YDocWebSocketHandler.open`).
const UNEXPLAINED: &str = "Error initializing";

/// The same error with its reason, if that can be found out. The file is read as text: for a broken notebook, a server may put an
/// older copy in its place.
pub(super) async fn explained(handle: &ServerHandle, path: &str, error: Error) -> Error {
    if !error.cause.contains(UNEXPLAINED) {
        return error;
    }
    match handle.contents(path, ContentsQuery::Text).await {
        Ok(entry) => match entry.content.map(Notebook::parse) {
            Some(Err(problem)) => Error::unreadable_notebook(path, problem),
            _ => error,
        },
        Err(refusal) => Error::unreadable_notebook(path, refusal.cause.trim_end_matches('.')),
    }
}
