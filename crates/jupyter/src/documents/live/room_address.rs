//! Finds a notebook's room and opens its socket.

use place::{Error, ErrorKind, NextStep};
use rest::{ContentsQuery, Kind, RestError, Server, SocketStream, room_path};
use ydoc::Dialect;

use super::disconnect::Disconnect;
use super::shared::Shared;
use crate::failure;

/// The room that was joined last. Its file id leads to the file even after a rename.
#[derive(Clone)]
pub(super) struct RoomAddress {
    file_id: String,
    session_id: Option<String>,
    /// The path of the file at that time.
    path: String,
    /// The file is not at its path: if the room does not find it either, it was deleted.
    pub(super) is_file_missing: bool,
}

/// Opens the room's socket.
pub(super) async fn join(
    shared: &Shared,
    address: &mut Option<RoomAddress>,
) -> Result<SocketStream, Disconnect> {
    let path = shared.path_now();
    let known = address.clone();
    let find = |server: Server| {
        let (path, known) = (path.clone(), known.clone());
        async move { find(&server, shared.dialect, &path, known).await }
    };
    // Only a call starts a server that a person has stopped, also one that came while this attempt was under way.
    let mut found = if shared.take_caller() {
        shared.handle.attempt(&find).await
    } else {
        match shared.handle.server().await {
            Ok(server) => find(server).await,
            Err(error) => Err(error),
        }
    };
    if matches!(&found, Err(error) if matches!(error.kind, Kind::Stopped | Kind::Starting))
        && shared.take_caller()
    {
        found = shared.handle.attempt(&find).await;
    }
    match found {
        Ok(Some((joined, socket))) => {
            {
                let mut state = shared.state();
                if state.location.joined(&joined.file_id, &joined.path) {
                    // Edits of the previous file are not for this one.
                    state.pending.give_up_all();
                }
            }
            *address = Some(joined);
            Ok(socket)
        }
        Ok(None) => {
            *address = None;
            Err(Disconnect::NoRooms(Error::new(
                ErrorKind::RemoteFailure,
                format!("Live notebooks are no longer available on {}.", shared.handle.title()),
                NextStep::TryAgain,
            )))
        }
        Err(error) if error.kind == Kind::NotFound => {
            Err(Disconnect::Final(failure::no_notebook(&path, &shared.handle.title())))
        }
        Err(error) => {
            let is_passing = error.is_transient() || error.kind == Kind::Server;
            let error = failure::of(error);
            Err(if is_passing { Disconnect::Lost(error) } else { Disconnect::Final(error) })
        }
    }
}

/// `None` if the server has no rooms of this dialect.
async fn find(
    server: &Server,
    dialect: Dialect,
    path: &str,
    known: Option<RoomAddress>,
) -> Result<Option<(RoomAddress, SocketStream)>, RestError> {
    // Checked first: a server assigns a session to a missing file too, and one dialect never reports that it is missing.
    let mut path = path.to_owned();
    let mut file = server.contents(&path, ContentsQuery::Hash).await;
    if file.as_ref().is_err_and(|error| error.kind == Kind::NotFound)
        && let Some(known) = &known
        && let Ok(Some(moved)) = server.file_path(&known.file_id).await
        && moved != path
    {
        file = server.contents(&moved, ContentsQuery::Hash).await;
        path = moved;
    }
    let address = match (file, known) {
        (Ok(_), _) => {
            let Some((file_id, session_id)) = ids(server, dialect, &path).await? else { return Ok(None) };
            RoomAddress { file_id, session_id, path, is_file_missing: false }
        }
        // Perhaps it was renamed while we were disconnected: the id still leads to it.
        (Err(error), Some(known)) if error.kind == Kind::NotFound => {
            RoomAddress { is_file_missing: true, ..known }
        }
        (Err(error), _) => return Err(error),
    };
    let room = room_path(&address.file_id, address.session_id.as_deref())?;
    match server.websocket(&room, &[]).await {
        Ok(socket) => Ok(Some((address, socket.stream))),
        // The server has jupyter-server-fileid without jupyter-server-documents.
        Err(RestError { kind: Kind::NotFound, .. })
            if dialect == Dialect::ServerDocuments && !address.is_file_missing =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The ids of a file and, with jupyter-collaboration, of a session in its room. `None` if the server has no rooms of this dialect.
pub(super) async fn ids(
    server: &Server,
    dialect: Dialect,
    path: &str,
) -> Result<Option<(String, Option<String>)>, RestError> {
    Ok(match dialect {
        Dialect::Collaboration => {
            let session = server.collaboration_session(path).await?;
            session.map(|session| (session.file_id, Some(session.session_id)))
        }
        Dialect::ServerDocuments => server.file_id(path).await?.map(|file_id| (file_id, None)),
    })
}
