//! The task that keeps one room's connection.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_util::sync::CancellationToken;
use workspace::{Error, ErrorKind};
use ydoc::LiveNotebook;

use super::door::{Door, Socket, connect};
use super::ended::{Ended, closed, lost};
use super::hearing::take;
use super::shared::{Away, Phase, Shared};
use crate::failure;

/// The pause before another attempt; it doubles up to the longest. After `GIVE_UP` nothing is tried until somebody asks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause while somebody waits.
const AWAITED_PAUSE: Duration = Duration::from_millis(400);
const GIVE_UP: Duration = Duration::from_secs(30 * 60);

/// Proxies close connections that are silent for a minute, and a half-open one is never told of.
const PING: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);

/// How slow a connection may be before sending counts as stuck, in bytes per second.
const SLOWEST: usize = 256 << 10;

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
        let ended = match (ended, &door) {
            (Ended::Lost(_), Some(Door { is_last_hope: true, .. })) if !shared.is_synced() => {
                Ended::Final(failure::no_notebook(&shared.path, &shared.link.title()))
            }
            (ended, _) => ended,
        };
        if shared.is_synced() {
            pause = SHORTEST_PAUSE;
        }
        let Some(is_final) = leave(&shared, ended) else { return };
        let now = next_pause(shared.link.reconnect, pause, shared.is_awaited());
        let woken = shared.wake.notified();
        let is_awake = if is_final {
            stop.run_until_cancelled(woken).await.is_some()
        } else {
            stop.run_until_cancelled(timeout(now, woken)).await.is_some()
        };
        if !is_awake {
            return;
        }
        pause = (now * 2).min(LONGEST_PAUSE);
    }
}

/// The pause before the next attempt: the one that was set, or one that grows, and is short while somebody waits.
fn next_pause(set: Option<Duration>, pause: Duration, is_awaited: bool) -> Duration {
    match set {
        Some(set) => set,
        None if is_awaited => pause.min(AWAITED_PAUSE),
        None => pause,
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
            ErrorKind::Timeout,
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

/// Sends, within a bound that grows with the size.
async fn send(socket: &mut Socket, message: Message) -> Result<(), String> {
    let patience = SILENCE + Duration::from_secs((message.len() / SLOWEST) as u64);
    match timeout(patience, socket.send(message)).await {
        Ok(sent) => sent.map_err(|error| error.to_string()),
        Err(_) => Err("the server takes nothing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_was_set_is_kept_to() {
        let set = Duration::from_secs(5);
        assert_eq!(next_pause(Some(set), SHORTEST_PAUSE, true), set);
        assert_eq!(next_pause(Some(set), LONGEST_PAUSE, false), set);
        assert_eq!(next_pause(None, LONGEST_PAUSE, false), LONGEST_PAUSE);
        assert_eq!(next_pause(None, LONGEST_PAUSE, true), AWAITED_PAUSE);
    }
}
