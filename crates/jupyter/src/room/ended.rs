//! Why there is no connection to a room any more.

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use workspace::{Error, ErrorKind};
use ydoc::Dialect;

use super::shared::Shared;
use crate::failure;

/// Why there is no connection any more.
pub(super) enum Ended {
    /// We are done.
    Stopped,
    /// It may be made anew.
    Lost(Error),
    /// Nothing helps but a person.
    Final(Error),
    /// There are no rooms on this server.
    Dismissed(Error),
}

/// Why the server closed the room (`YDocWebSocketHandler.open` of jupyter-server-ydoc; `YRoom` of
/// jupyter-server-documents).
pub(super) fn closed(shared: &Shared, frame: Option<&CloseFrame>) -> Ended {
    let (code, reason) = match frame {
        Some(frame) => (u16::from(frame.code), frame.reason.as_str()),
        None => (1005, ""),
    };
    let (path, server) = (&shared.path, shared.link.title());
    match code {
        // jupyter-server-documents: 4001 deleted through the server, 4002 gone from the disk.
        4404 | 4001 | 4002 => Ended::Final(failure::no_notebook(path, &server)),
        4400 => Ended::Final(failure::unreadable(path, &"the server cannot read it")),
        4500 => Ended::Final(Error::new(
            ErrorKind::RemoteFailure,
            format!("The notebook {path:?} failed to open on {server}: {reason}"),
            "The server's log says why; the next call tries again.",
        )),
        1003 if reason.contains("initialization_error") => Ended::Final(Error::new(
            ErrorKind::RemoteFailure,
            format!("The notebook {path:?} could not be opened as a shared document on {server}: {reason}."),
            "The server's log says more; the next call tries again.",
        )),
        // jupyter-server-documents 0.3 does not let go of a room that it has stopped.
        1001 if shared.dialect == Dialect::ServerDocuments => Ended::Lost(Error::new(
            ErrorKind::Unavailable,
            format!("The room of {path:?} is being closed by {server}."),
            "If this lasts (it does once the file was deleted or replaced from outside), restart the Jupyter server.",
        )),
        // 1003 `unknown_session`, `version_mismatch`: the server was started anew; a new session helps.
        _ => Ended::Lost(lost(shared, &format!("the server closed it ({code} {reason})"))),
    }
}

pub(super) fn lost(shared: &Shared, why: &str) -> Error {
    Error::new(
        ErrorKind::Disconnected,
        format!("The connection to the room of {:?} on {} broke: {why}.", shared.path, shared.link.title()),
        "It is made again by itself; try again in a moment.",
    )
}
