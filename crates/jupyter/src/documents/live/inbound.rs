//! Handles what the room sends.

use std::sync::Arc;
use std::time::Instant;

use tokio_tungstenite::tungstenite::Bytes;
use tokio_util::task::AbortOnDropHandle;
use ydoc::RoomEvent;

use super::connection_state::{ConnectionState, Stage};
use super::edits;
use super::shared::Shared;

/// From this size on, a frame is handled by a thread of its own, in bytes: it would block everything else for a while.
const LARGE_FRAME: usize = 512 << 10;

pub(super) async fn handle_frame(shared: &Arc<Shared>, frame: Bytes) {
    if frame.len() < LARGE_FRAME {
        return handle(shared, &frame);
    }
    let shared = shared.clone();
    let handled = tokio::task::spawn_blocking(move || {
        handle(&shared, &frame);
        let _ = shared.snapshot(&mut shared.state());
    });
    if let Err(error) = handled.await {
        tracing::warn!(%error, "failed to handle a frame of a room");
    }
}

fn handle(shared: &Arc<Shared>, frame: &[u8]) {
    let mut state = shared.state();
    let state = &mut *state;
    let was_synced = shared.is_synced();
    let mut is_changed = false;
    for event in state.replica.receive(frame, Instant::now()) {
        match event {
            RoomEvent::Synced => {
                // Parsed now, so that the first caller need not wait for it.
                let _ = shared.snapshot(state);
                if edits::reconcile(shared, state) {
                    let shared = shared.clone();
                    let confirming = place::spawn(async move { edits::confirm_pending(&shared).await });
                    state.confirming = Some(AbortOnDropHandle::new(confirming));
                }
                // Others may have changed it in the meantime.
                is_changed |= shared.is_reconnecting();
                shared.connection.send_replace(ConnectionState::new(Stage::Synced));
            }
            RoomEvent::Changed => is_changed |= was_synced,
            RoomEvent::PathChanged(path) => {
                if path != shared.path {
                    tracing::info!(from = shared.path, to = path, "the notebook was renamed");
                }
                state.location.set_moved(None);
            }
            RoomEvent::Malformed(problem) => {
                tracing::warn!(path = shared.path, problem, "the room sent a malformed message");
            }
            // The replica has handled them.
            RoomEvent::Send(_) | RoomEvent::Saved { .. } | RoomEvent::Broken => {}
        }
    }
    if is_changed {
        shared.changes.send_modify(|count| *count += 1);
    }
    shared.inbound.send_modify(|count| *count += 1);
}
