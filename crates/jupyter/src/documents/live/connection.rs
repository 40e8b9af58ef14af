//! The task that keeps the connection to one room.

use std::sync::Arc;
use std::time::Duration;

use connection::{Beat, Liveness};
use futures_util::{SinkExt as _, StreamExt as _};
use place::{Error, ErrorKind};
use rest::SocketStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_util::sync::CancellationToken;

use super::disconnect::{Disconnect, closed, lost};
use super::inbound::handle_frame;
use super::room_address::join;
use super::shared::Shared;
use crate::failure;

/// The pause before another attempt to connect. It doubles up to the longest.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause while a call waits.
const AWAITED_PAUSE: Duration = Duration::from_millis(400);

const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How slow a connection may be before sending counts as stuck, in bytes per second.
const SLOWEST: usize = 256 << 10;

/// Connects, serves the connection, and connects again, until it is stopped.
pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut address = None;
    let mut pause = SHORTEST_PAUSE;
    loop {
        let disconnect = match stop.run_until_cancelled(join(&shared, &mut address)).await {
            None => Disconnect::Stopped,
            Some(Err(disconnect)) => disconnect,
            Some(Ok(socket)) => serve(&shared, socket, &stop).await,
        };
        if shared.is_synced() {
            pause = SHORTEST_PAUSE;
        }
        let disconnect = match disconnect {
            Disconnect::Stopped => {
                shared.state().replica.disconnect();
                return;
            }
            Disconnect::Lost(_)
                if !shared.is_synced() && address.as_ref().is_some_and(|address| address.is_file_missing) =>
            {
                Disconnect::Final(failure::no_notebook(&shared.path, &shared.handle.title()))
            }
            disconnect => disconnect,
        };
        let is_suspended = shared.set_disconnected(disconnect);
        let next = next_pause(shared.handle.reconnect_pause, pause, shared.is_awaited());
        let is_running = if is_suspended {
            stop.run_until_cancelled(shared.woken()).await.is_some()
        } else {
            stop.run_until_cancelled(timeout(next, shared.woken())).await.is_some()
        };
        if !is_running {
            return;
        }
        pause = (next * 2).min(LONGEST_PAUSE);
    }
}

/// A pause that was set is always used. Otherwise it grows, and is short while a call waits.
fn next_pause(set: Option<Duration>, pause: Duration, is_awaited: bool) -> Duration {
    match set {
        Some(set) => set,
        None if is_awaited => pause.min(AWAITED_PAUSE),
        None => pause,
    }
}

/// Moves frames until the connection ends.
async fn serve(shared: &Arc<Shared>, mut socket: SocketStream, stop: &CancellationToken) -> Disconnect {
    let (outbox, mut outgoing) = mpsc::unbounded_channel();
    let opened = Instant::now();
    shared.state().replica.connect(outbox, opened.into_std());
    let network_timeout = shared.handle.network_timeout();
    let send_timeout = network_timeout.duration();
    let mut liveness = Liveness::new(network_timeout, opened.into_std());
    loop {
        let deadlines = [
            Some(Instant::from_std(liveness.deadline())),
            (!shared.is_synced()).then(|| opened + shared.load_timeout),
            shared.state().replica.room.renewal().map(Instant::from_std),
        ];
        let next = deadlines.into_iter().flatten().min().unwrap_or(opened);
        let sent = tokio::select! {
            biased;
            () = stop.cancelled() => {
                while let Ok(frame) = outgoing.try_recv() {
                    let _ = send(&mut socket, Message::Binary(frame.into()), send_timeout).await;
                }
                let _ = timeout(CLOSE_TIMEOUT, socket.close(None)).await;
                return Disconnect::Stopped;
            }
            frame = outgoing.recv() => match frame {
                Some(frame) => send(&mut socket, Message::Binary(frame.into()), send_timeout).await,
                // The document cannot be trusted; the next connection brings a new one.
                None => return Disconnect::Lost(lost(shared, "its content is invalid")),
            },
            message = socket.next() => {
                liveness.received(Instant::now().into_std());
                match message {
                    Some(Ok(Message::Binary(frame))) => {
                        handle_frame(shared, frame).await;
                        // Servers hold back their next packet until this one is acknowledged (Nagle: tornado does not set
                        // TCP_NODELAY on WebSockets), and Linux delays that for 40 ms unless there is something to send.
                        send(&mut socket, Message::Pong(Bytes::new()), send_timeout).await
                    }
                    Some(Ok(Message::Close(frame))) => return closed(shared, frame.as_ref()),
                    Some(Ok(_)) => Ok(()),
                    Some(Err(error)) => return Disconnect::Lost(lost(shared, &error.to_string())),
                    None => return Disconnect::Lost(lost(shared, "the server closed it")),
                }
            }
            () = sleep_until(next) => match on_timer(shared, opened, &mut liveness) {
                Ok(Some(message)) => send(&mut socket, message, send_timeout).await,
                Ok(None) => Ok(()),
                Err(error) => return Disconnect::Lost(error),
            },
        };
        if let Err(problem) = sent {
            return Disconnect::Lost(lost(shared, &problem));
        }
    }
}

/// Does what is due, and returns the message to send. Fails if the connection has timed out.
fn on_timer(shared: &Shared, opened: Instant, liveness: &mut Liveness) -> Result<Option<Message>, Error> {
    let now = Instant::now();
    let beat = liveness.poll(now.into_std());
    if beat == Some(Beat::Dead) {
        return Err(lost(shared, "the server does not answer pings"));
    }
    if !shared.is_synced() && now >= opened + shared.load_timeout {
        return Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "The room of {:?} on {} sent no document within {} s.",
                shared.path,
                shared.handle.title(),
                shared.load_timeout.as_secs()
            ),
            "Check that JupyterLab can open the notebook; otherwise see the server's log.",
        ));
    }
    shared.state().replica.renew_presence(now.into_std());
    Ok((beat == Some(Beat::Ping)).then(|| Message::Ping(Bytes::new())))
}

/// Sends, within a time limit that grows with the size.
async fn send(socket: &mut SocketStream, message: Message, shortest: Duration) -> Result<(), String> {
    let limit = shortest + Duration::from_secs((message.len() / SLOWEST) as u64);
    match timeout(limit, socket.send(message)).await {
        Ok(sent) => sent.map_err(|error| error.to_string()),
        Err(_) => Err("the server does not read what is sent".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_pause_is_always_used() {
        let set = Duration::from_secs(5);
        assert_eq!(next_pause(Some(set), SHORTEST_PAUSE, true), set);
        assert_eq!(next_pause(Some(set), LONGEST_PAUSE, false), set);
        assert_eq!(next_pause(None, LONGEST_PAUSE, false), LONGEST_PAUSE);
        assert_eq!(next_pause(None, LONGEST_PAUSE, true), AWAITED_PAUSE);
    }
}
