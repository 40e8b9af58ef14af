//! Requests to save. One is in flight at a time; requests during that time share the next one.

use tokio::sync::oneshot;
use ydoc::{LiveNotebook, Room, SaveOutcome, SaveRequest};

#[derive(Default)]
pub(super) struct SaveQueue {
    in_flight: Option<PendingSave>,
    /// Those who wait for the next request.
    waiting: Vec<oneshot::Sender<Reply>>,
}

struct PendingSave {
    id: u64,
    /// The hash of the file when the request was sent.
    hash: Option<String>,
    waiters: Vec<oneshot::Sender<Reply>>,
}

/// The server's answer to a request. "Success" does not mean that the file was written: the server also answers so if the
/// disk is full, the file is read-only, or another save came between (`DocumentRoom._maybe_save_document` of
/// jupyter-server-ydoc 3). Only a new hash shows that it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) outcome: SaveOutcome,
    /// The hash of the file when the request was sent.
    pub(super) hash: Option<String>,
}

impl SaveQueue {
    /// Requests a save of everything that was changed so far. Returns the frame to send now, if any, and the answer.
    pub(super) fn request(
        &mut self,
        room: &mut Room,
        live: &LiveNotebook,
    ) -> (Option<Vec<u8>>, oneshot::Receiver<Reply>) {
        let (waiter, reply) = oneshot::channel();
        self.waiting.push(waiter);
        if self
            .in_flight
            .as_ref()
            .is_some_and(|request| request.waiters.iter().all(oneshot::Sender::is_closed))
        {
            // Nobody waits for it any longer, perhaps because the server never answered.
            self.in_flight = None;
        }
        let frame = if self.in_flight.is_none() { self.next(room, live) } else { None };
        (frame, reply)
    }

    /// Starts the next request, for all who wait. Returns its frame.
    fn next(&mut self, room: &mut Room, live: &LiveNotebook) -> Option<Vec<u8>> {
        self.waiting.retain(|waiter| !waiter.is_closed());
        if self.waiting.is_empty() {
            return None;
        }
        let SaveRequest { id, frame } = room.save();
        self.in_flight =
            Some(PendingSave { id, hash: live.hash(), waiters: std::mem::take(&mut self.waiting) });
        Some(frame)
    }

    /// Handles an answer. Returns the frame of the next request, if somebody waits for one.
    pub(super) fn answered(
        &mut self,
        id: u64,
        outcome: SaveOutcome,
        room: &mut Room,
        live: &LiveNotebook,
    ) -> Option<Vec<u8>> {
        let request = self.in_flight.take_if(|request| request.id == id)?;
        for waiter in request.waiters {
            let _ = waiter.send(Reply { outcome, hash: request.hash.clone() });
        }
        self.next(room, live)
    }

    /// Drops all requests, because the connection ended.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_made_while_one_is_in_flight_share_the_next() {
        let live = LiveNotebook::new();
        let (mut room, _) = Room::open(&live);
        let mut saves = SaveQueue::default();
        let (first, mut one) = saves.request(&mut room, &live);
        let (second, mut two) = saves.request(&mut room, &live);
        let (third, mut three) = saves.request(&mut room, &live);
        assert!(first.is_some());
        assert!(second.is_none());
        assert!(third.is_none());
        assert!(saves.answered(9, SaveOutcome::Saved, &mut room, &live).is_none(), "an unknown request");
        // The first save may have been made before the later edits came.
        assert!(saves.answered(1, SaveOutcome::Saved, &mut room, &live).is_some());
        assert_eq!(one.try_recv().unwrap().outcome, SaveOutcome::Saved);
        assert!(two.try_recv().is_err());
        assert!(saves.answered(2, SaveOutcome::Skipped, &mut room, &live).is_none());
        assert_eq!(two.try_recv().unwrap().outcome, SaveOutcome::Skipped);
        assert_eq!(three.try_recv().unwrap().outcome, SaveOutcome::Skipped);
    }

    #[test]
    fn a_request_that_nobody_waits_for_does_not_delay_the_next() {
        let live = LiveNotebook::new();
        let (mut room, _) = Room::open(&live);
        let mut saves = SaveQueue::default();
        drop(saves.request(&mut room, &live));
        let (frame, mut reply) = saves.request(&mut room, &live);
        assert!(frame.is_some());
        saves.clear();
        assert!(matches!(reply.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
}
