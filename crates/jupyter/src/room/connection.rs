//! The task that keeps one room's connection.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rest::{Io, Kind, RestError, Server, Want, room_path};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_util::sync::CancellationToken;
use workspace::{Error, Side};
use ydoc::{Dialect, Happening, LiveNotebook};

use super::shared::{Away, Phase, Shared};
use crate::failure;

/// The pause before another attempt; it doubles up to the longest. After `GIVE_UP` nothing is tried until somebody asks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause while somebody waits.
const AWAITED_PAUSE: Duration = Duration::from_millis(400);
const GIVE_UP: Duration = Duration::from_secs(30 * 60);

/// Proxies close connections that are silent for a minute, and a half-open one is never told of.
const PING: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_secs(45);

/// How slow a connection may be before sending counts as stuck, in bytes per second.
const SLOWEST: usize = 256 << 10;

/// From how many bytes on a frame is taken by a thread of its own.
const LARGE: usize = 512 << 10;

type Socket = WebSocketStream<Box<dyn Io>>;

/// Which room was entered last. It leads to the file also after it was renamed.
#[derive(Clone)]
struct Door {
    file_id: String,
    session_id: Option<String>,
}

/// Why there is no connection any more.
enum Ended {
    /// We are done.
    Stopped,
    /// It may be made anew.
    Lost(Error),
    /// Nothing helps but a person.
    Final(Error),
    /// There are no rooms on this server.
    Dismissed(Error),
}

/// Connects, serves the connection, and connects again, until it is stopped.
pub(super) async fn keep(shared: Arc<Shared>, stop: CancellationToken) {
    let mut door = None;
    let mut pause = SHORTEST_PAUSE;
    loop {
        let ended = match stop.run_until_cancelled(connect(&shared, &mut door)).await {
            None => Ended::Stopped,
            Some(Err(ended)) => ended,
            Some(Ok(socket)) => serve(&shared, socket, &stop).await,
        };
        let was_synced = shared.is_synced();
        if was_synced {
            pause = SHORTEST_PAUSE;
        }
        let Some(is_final) = leave(&shared, ended) else { return };
        if shared.is_awaited() {
            pause = pause.min(AWAITED_PAUSE);
        }
        let woken = shared.wake.notified();
        let is_awake = if is_final {
            stop.run_until_cancelled(woken).await.is_some()
        } else {
            stop.run_until_cancelled(timeout(pause, woken)).await.is_some()
        };
        if !is_awake {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Notes that there is no connection. Whether nothing more is to be tried for now; `None` if never.
fn leave(shared: &Shared, ended: Ended) -> Option<bool> {
    {
        let mut state = shared.state();
        state.outbox = None;
        state.saves.lost();
    }
    let (error, is_final, is_dismissed) = match ended {
        Ended::Stopped => return None,
        Ended::Lost(error) => (error, false, false),
        Ended::Final(error) => (error, true, false),
        Ended::Dismissed(error) => (error, true, true),
    };
    tracing::debug!(path = shared.path, %error, is_final, "not in the room");
    let before = match &*shared.phase.borrow() {
        Phase::Away(away) => away.clone(),
        Phase::Synced => Away {
            since: Instant::now(),
            was_synced: true,
            failures: 0,
            error: None,
            is_final: false,
            is_dismissed: false,
        },
    };
    let is_final = is_final || before.since.elapsed() > GIVE_UP;
    let failures = before.failures + 1;
    let away = Away { failures, error: Some(error), is_final, is_dismissed, ..before };
    shared.phase.send_replace(Phase::Away(away));
    Some(is_final)
}

async fn connect(shared: &Shared, door: &mut Option<Door>) -> Result<Socket, Ended> {
    let path = shared.state().live.path().unwrap_or_else(|| shared.path.clone());
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
            *door = Some(entered);
            Ok(socket)
        }
        Ok(None) => {
            *door = None;
            Err(Ended::Dismissed(Error::new(
                Side::Place,
                format!("{} has no shared documents any more.", shared.link.title()),
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
    let door = match server.contents(path, Want::Meta).await {
        Ok(_) => match dialect {
            Dialect::Collaboration => server
                .collaboration_session(path)
                .await?
                .map(|session| Door { file_id: session.file_id, session_id: Some(session.session_id) }),
            Dialect::ServerDocuments => {
                server.file_id(path).await?.map(|file_id| Door { file_id, session_id: None })
            }
        },
        // Renamed while we were away, perhaps: the id still leads to it.
        Err(RestError { kind: Kind::NotFound, .. })
            if known.is_some() && dialect == Dialect::Collaboration =>
        {
            known
        }
        Err(error) => return Err(error),
    };
    let Some(door) = door else { return Ok(None) };
    let room = room_path(&door.file_id, door.session_id.as_deref())?;
    match server.websocket(&room, &[]).await {
        Ok(socket) => Ok(Some((door, socket.into_stream().await))),
        // jupyter-server-fileid is there without jupyter-server-documents.
        Err(RestError { kind: Kind::NotFound, .. }) if dialect == Dialect::ServerDocuments => Ok(None),
        Err(error) => Err(error),
    }
}

/// Moves frames until the connection ends.
async fn serve(shared: &Arc<Shared>, mut socket: Socket, stop: &CancellationToken) -> Ended {
    let (outbox, mut outgoing) = mpsc::unbounded_channel();
    {
        let mut state = shared.state();
        let state = &mut *state;
        // A new document for each connection. The server may have built its own anew, from the file: two histories of one
        // notebook, put together, show every cell twice. What we did and it does not show is done again.
        if std::mem::take(&mut state.is_whole) {
            state.last = state.live.snapshot().ok();
        }
        state.live = LiveNotebook::new();
        for frame in state.room.reopen(&state.live, Instant::now().into_std()) {
            let _ = outbox.send(frame);
        }
        state.outbox = Some(outbox);
    }
    let opened = Instant::now();
    let (mut heard, mut pinged) = (opened, opened);
    loop {
        let timer = [
            Some(heard + SILENCE),
            Some(pinged + PING),
            (!shared.is_synced()).then(|| opened + shared.patience),
            shared.state().room.renewal().map(Instant::from_std),
        ];
        let next = timer.into_iter().flatten().min().unwrap_or(heard + SILENCE);
        let sent = tokio::select! {
            biased;
            () = stop.cancelled() => {
                while let Ok(frame) = outgoing.try_recv() {
                    let _ = send(&mut socket, Message::Binary(frame.into())).await;
                }
                let _ = timeout(Duration::from_secs(1), socket.close(None)).await;
                return Ended::Stopped;
            }
            frame = outgoing.recv() => match frame {
                Some(frame) => send(&mut socket, Message::Binary(frame.into())).await,
                // The document cannot be trusted; it is opened anew.
                None => return Ended::Lost(lost(shared, "its content makes no sense")),
            },
            message = socket.next() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Binary(frame))) => {
                        take(shared, frame).await;
                        // Servers wait with the next packet until this one is acknowledged, which Linux puts off for 40 ms
                        // unless there is something to send: https://github.com/tornadoweb/tornado (no TCP_NODELAY on
                        // WebSockets).
                        send(&mut socket, Message::Pong(Bytes::new())).await
                    }
                    Some(Ok(Message::Close(frame))) => return closed(shared, frame.as_ref()),
                    Some(Ok(_)) => Ok(()),
                    Some(Err(error)) => return Ended::Lost(lost(shared, &error.to_string())),
                    None => return Ended::Lost(lost(shared, "the server closed it")),
                }
            }
            () = sleep_until(next) => match tick(shared, heard, opened, &mut pinged) {
                Ok(message) => match message {
                    Some(message) => send(&mut socket, message).await,
                    None => Ok(()),
                },
                Err(error) => return Ended::Lost(error),
            },
        };
        if let Err(problem) = sent {
            return Ended::Lost(lost(shared, &problem));
        }
    }
}

/// What is due; fails if the connection is to be given up.
fn tick(
    shared: &Shared,
    heard: Instant,
    opened: Instant,
    pinged: &mut Instant,
) -> Result<Option<Message>, Error> {
    let now = Instant::now();
    if now >= heard + SILENCE {
        return Err(lost(shared, &format!("nothing came for {} s", SILENCE.as_secs())));
    }
    if !shared.is_synced() && now >= opened + shared.patience {
        return Err(Error::new(
            Side::Place,
            format!(
                "The room of {:?} on {} sent no document within {} s.",
                shared.path,
                shared.link.title(),
                shared.patience.as_secs()
            ),
            "Check that JupyterLab can open the notebook; the server's log may say why it cannot.",
        ));
    }
    let mut state = shared.state();
    if let Some(frame) = state.room.renew(now.into_std()) {
        state.send(frame);
    }
    if now >= *pinged + PING {
        *pinged = now;
        return Ok(Some(Message::Ping(Bytes::new())));
    }
    Ok(None)
}

/// Takes one frame of the room. A large one would hold up everything else for a while.
async fn take(shared: &Arc<Shared>, frame: Bytes) {
    if frame.len() < LARGE {
        return hear(shared, &frame);
    }
    let shared = shared.clone();
    let taken = tokio::task::spawn_blocking(move || {
        hear(&shared, &frame);
        // What came is read now, and not while somebody waits.
        let _ = shared.snapshot(&mut shared.state());
    });
    if let Err(error) = taken.await {
        tracing::warn!(%error, "a frame could not be taken");
    }
}

fn hear(shared: &Shared, frame: &[u8]) {
    let mut state = shared.state();
    let state = &mut *state;
    let was_synced = shared.is_synced();
    let mut is_changed = false;
    for happening in state.room.receive(frame, std::time::Instant::now(), &mut state.live) {
        match happening {
            Happening::Send(frame) => state.send(frame),
            Happening::Synced => {
                state.is_whole = true;
                shared.settle(state);
                let again = matches!(&*shared.phase.borrow(), Phase::Away(away) if away.was_synced);
                is_changed |= again;
                shared.phase.send_replace(Phase::Synced);
            }
            Happening::Changed => is_changed |= was_synced,
            Happening::Saved { request, outcome } => {
                let next = state.saves.answered(request, outcome, &mut state.room, &state.live);
                if let Some(frame) = next {
                    state.send(frame);
                }
            }
            Happening::PathChanged(path) if path != shared.path => {
                tracing::info!(from = shared.path, to = path, "the notebook was renamed");
            }
            Happening::Malformed(problem) => {
                tracing::warn!(path = shared.path, problem, "the room sent something that makes no sense");
            }
            Happening::Broken => state.outbox = None,
            _ => {}
        }
    }
    if is_changed {
        shared.changes.send_modify(|count| *count += 1);
    }
    shared.heard.send_modify(|count| *count += 1);
}

/// Why the server closed the room (`YDocWebSocketHandler.open` of jupyter-server-ydoc; `YRoom` of
/// jupyter-server-documents).
fn closed(shared: &Shared, frame: Option<&CloseFrame>) -> Ended {
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
            Side::Place,
            format!("{server} failed to open {path:?}: {reason}"),
            "The server's log says why; the next call tries again.",
        )),
        1003 if reason.contains("initialization_error") => Ended::Final(Error::new(
            Side::Place,
            format!("{server} could not open {path:?} as a shared document: {reason}."),
            "The server's log says more; the next call tries again.",
        )),
        // jupyter-server-documents 0.3 does not let go of a room that it has stopped.
        1001 if shared.dialect == Dialect::ServerDocuments => Ended::Lost(Error::new(
            Side::Person,
            format!("{server} is closing its room of {path:?}."),
            "If this lasts (it does once the file was deleted or replaced from outside), restart the Jupyter server.",
        )),
        // 1003 `unknown_session`, `version_mismatch`: the server was started anew; a new session helps.
        _ => Ended::Lost(lost(shared, &format!("the server closed it ({code} {reason})"))),
    }
}

fn lost(shared: &Shared, why: &str) -> Error {
    Error::new(
        Side::Place,
        format!("The connection to the room of {:?} on {} broke: {why}.", shared.path, shared.link.title()),
        "It is made again by itself; try again in a moment.",
    )
}

/// Sends, within a bound that grows with the size.
async fn send(socket: &mut Socket, message: Message) -> Result<(), String> {
    let patience = SILENCE + Duration::from_secs((message.len() / SLOWEST) as u64);
    match timeout(patience, socket.send(message)).await {
        Ok(sent) => sent.map_err(|error| error.to_string()),
        Err(_) => Err("the server takes nothing".to_owned()),
    }
}
