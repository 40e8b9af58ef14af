//! Why a connection to a room ended.

use place::{Error, ErrorKind};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use ydoc::Dialect;

use super::shared::Shared;
use crate::failure;

pub(super) enum Disconnect {
    /// We closed it.
    Stopped,
    /// Another attempt may succeed.
    Lost(Error),
    /// Another attempt is made only when a call needs it.
    Final(Error),
    /// The server has no rooms.
    NoRooms(Error),
}

impl Disconnect {
    pub(super) fn into_error(self) -> Option<Error> {
        match self {
            Self::Stopped => None,
            Self::Lost(error) | Self::Final(error) | Self::NoRooms(error) => Some(error),
        }
    }
}

/// The reason in the server's close frame (`YDocWebSocketHandler.open` of jupyter-server-ydoc; `YRoom` of
/// jupyter-server-documents).
pub(super) fn closed(shared: &Shared, frame: Option<&CloseFrame>) -> Disconnect {
    let (code, reason) = match frame {
        Some(frame) => (u16::from(frame.code), frame.reason.as_str()),
        None => (1005, ""),
    };
    let (path, server) = (&shared.path, shared.handle.title());
    match code {
        // jupyter-server-documents: 4001 deleted through the server, 4002 deleted on disk.
        4404 | 4001 | 4002 => Disconnect::Final(failure::no_notebook(path, &server)),
        4400 => Disconnect::Final(unreadable(path, reason)),
        4500 | 1003 if code == 4500 || reason.contains("initialization_error") => {
            Disconnect::Final(Error::new(
                ErrorKind::RemoteFailure,
                format!(
                    "The notebook {path:?} failed to open on {server}: {}.",
                    rest::safe(reason).trim_end_matches('.')
                ),
                "See the server's log; the next call tries again.",
            ))
        }
        // jupyter-server-documents 0.3 keeps a room that it has stopped.
        1001 if shared.dialect == Dialect::ServerDocuments => Disconnect::Lost(Error::new(
            ErrorKind::Unavailable,
            format!("The room of {path:?} is being closed by {server}."),
            "If this lasts (it does once the file was deleted or replaced outside the server), restart the Jupyter server.",
        )),
        // 1003 `unknown_session`, `version_mismatch`: the server was restarted; a new session helps.
        _ => Disconnect::Lost(lost(shared, &format!("the server closed it ({code} {})", rest::safe(reason)))),
    }
}

/// The server cannot read the file, for this reason.
fn unreadable(path: &str, reason: &str) -> Error {
    let reason = rest::safe(reason);
    let reason = reason.trim_end_matches('.');
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Error::unreadable_notebook(path, format!("the server cannot read it{reason}"))
}

pub(super) fn lost(shared: &Shared, why: &str) -> Error {
    Error::new(
        ErrorKind::Disconnected,
        format!("The connection to the room of {:?} on {} broke: {why}.", shared.path, shared.handle.title()),
        "It reconnects automatically; try again in a moment.",
    )
}
