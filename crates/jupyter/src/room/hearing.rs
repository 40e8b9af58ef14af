//! What the room says.

use std::sync::Arc;

use tokio_tungstenite::tungstenite::Bytes;
use tokio_util::task::AbortOnDropHandle;
use ydoc::RoomEvent;

use super::shared::{Phase, Shared};

/// From how many bytes on a frame is taken by a thread of its own.
const LARGE: usize = 512 << 10;

/// Takes one frame of the room. A large one would hold up everything else for a while.
pub(super) async fn take(shared: &Arc<Shared>, frame: Bytes) {
    if frame.len() < LARGE {
        return hear(shared, &frame);
    }
    let shared = shared.clone();
    let taken = tokio::task::spawn_blocking(move || {
        hear(&shared, &frame);
        let _ = shared.snapshot(&mut shared.state());
    });
    if let Err(error) = taken.await {
        tracing::warn!(%error, "a frame could not be taken");
    }
}

fn hear(shared: &Arc<Shared>, frame: &[u8]) {
    let mut state = shared.state();
    let state = &mut *state;
    let was_synced = shared.is_synced();
    let mut is_changed = false;
    for event in state.room.receive(frame, std::time::Instant::now(), &mut state.live) {
        match event {
            RoomEvent::Send(frame) => state.send(frame),
            RoomEvent::Synced => {
                state.is_whole = true;
                // Read now, and not when the first caller waits.
                let _ = shared.snapshot(state);
                if shared.settle(state) {
                    let shared = shared.clone();
                    let settling = tokio::spawn(async move { shared.confirm_settled().await });
                    state.settling = Some(AbortOnDropHandle::new(settling));
                }
                let again = matches!(&*shared.phase.borrow(), Phase::Away(away) if away.was_synced);
                is_changed |= again;
                shared.phase.send_replace(Phase::Synced);
            }
            RoomEvent::Changed => is_changed |= was_synced,
            RoomEvent::Saved { request, outcome } => {
                let next = state.saves.answered(request, outcome, &mut state.room, &state.live);
                if let Some(frame) = next {
                    state.send(frame);
                }
            }
            RoomEvent::PathChanged(path) => {
                if path != shared.path {
                    tracing::info!(from = shared.path, to = path, "the notebook was renamed");
                }
                state.moved = None;
            }
            RoomEvent::Malformed(problem) => {
                tracing::warn!(path = shared.path, problem, "the room sent something that makes no sense");
            }
            RoomEvent::Broken => state.outbox = None,
        }
    }
    if is_changed {
        shared.changes.send_modify(|count| *count += 1);
    }
    shared.heard.send_modify(|count| *count += 1);
}
