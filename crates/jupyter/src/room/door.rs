//! The way into a notebook's room.

use rest::{Io, Kind, RestError, Server, Want, room_path};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use workspace::{Error, ErrorKind};
use ydoc::Dialect;

use super::ended::Ended;
use super::shared::Shared;
use crate::failure;

pub(super) type Socket = WebSocketStream<Box<dyn Io>>;

/// Which room was entered last. It leads to the file also after it was renamed.
#[derive(Clone)]
pub(super) struct Door {
    file_id: String,
    session_id: Option<String>,
    /// Where the file was then.
    path: String,
    /// The file is not where it was: if the room does not lead to it either, it is gone.
    pub(super) is_last_hope: bool,
}

/// Opens the room's socket.
pub(super) async fn connect(shared: &Shared, door: &mut Option<Door>) -> Result<Socket, Ended> {
    let path = shared.path_now();
    let known = door.clone();
    let enter = |server: Server| {
        let (path, known) = (path.clone(), known.clone());
        async move { enter(&server, shared.dialect, &path, known).await }
    };
    let entered = if shared.take_wanted() {
        shared.link.attempt(None, enter).await
    } else {
        // Nobody waits: a server that a person has stopped stays so.
        match shared.link.server().await {
            Ok(server) => enter(server).await,
            Err(error) => Err(error),
        }
    };
    match entered {
        Ok(Some((entered, socket))) => {
            {
                let mut state = shared.state();
                let before = state.file_id.replace(entered.file_id.clone());
                if before.is_some_and(|before| before != entered.file_id) {
                    // Another file is there now; what was meant for the one before is not for it.
                    state.owed.give_up_all();
                }
                state.located = Some(Instant::now());
                state.moved = Some(entered.path.clone()).filter(|path| *path != shared.path);
            }
            *door = Some(entered);
            Ok(socket)
        }
        Ok(None) => {
            *door = None;
            Err(Ended::Dismissed(Error::new(
                ErrorKind::RemoteFailure,
                format!("There are no shared documents on {} any more.", shared.link.title()),
                "Try again.",
            )))
        }
        Err(error) if error.kind == Kind::NotFound => {
            Err(Ended::Final(failure::no_notebook(&path, &shared.link.title())))
        }
        Err(error) => {
            let is_passing = error.is_passing() || error.kind == Kind::Server;
            let error = failure::of(error);
            Err(if is_passing { Ended::Lost(error) } else { Ended::Final(error) })
        }
    }
}

/// Finds the notebook's room and opens its socket. `None` if the server has no rooms of this dialect.
async fn enter(
    server: &Server,
    dialect: Dialect,
    path: &str,
    known: Option<Door>,
) -> Result<Option<(Door, Socket)>, RestError> {
    // A session is given for a missing file as well, and one dialect never says that it is missing.
    let mut path = path.to_owned();
    let mut there = server.contents(&path, Want::Meta).await;
    if there.as_ref().is_err_and(|error| error.kind == Kind::NotFound)
        && let Some(known) = &known
        && let Ok(Some(moved)) = server.file_path(&known.file_id).await
        && moved != path
    {
        there = server.contents(&moved, Want::Meta).await;
        path = moved;
    }
    let door = match there {
        Ok(_) => match dialect {
            Dialect::Collaboration => server.collaboration_session(&path).await?.map(|session| Door {
                file_id: session.file_id,
                session_id: Some(session.session_id),
                path,
                is_last_hope: false,
            }),
            Dialect::ServerDocuments => server.file_id(&path).await?.map(|file_id| Door {
                file_id,
                session_id: None,
                path,
                is_last_hope: false,
            }),
        },
        // Renamed while we were away, perhaps: the id still leads to it.
        Err(error) if error.kind == Kind::NotFound => match known {
            Some(known) => Some(Door { is_last_hope: true, ..known }),
            None => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let Some(door) = door else { return Ok(None) };
    let room = room_path(&door.file_id, door.session_id.as_deref())?;
    match server.websocket(&room, &[]).await {
        Ok(socket) => Ok(Some((door, socket.into_stream().await))),
        // jupyter-server-fileid is there without jupyter-server-documents.
        Err(RestError { kind: Kind::NotFound, .. })
            if dialect == Dialect::ServerDocuments && !door.is_last_hope =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
