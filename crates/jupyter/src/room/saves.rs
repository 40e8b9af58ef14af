//! Requests to save, of which one is on its way at a time: what is asked for meanwhile shares the next.

use tokio::sync::oneshot;
use ydoc::{LiveNotebook, Room, SaveOutcome, SaveRequest};

/// Those who wait for a save.
#[derive(Default)]
pub(super) struct Saves {
    asked: Option<Asked>,
    waiting: Vec<oneshot::Sender<Reply>>,
}

struct Asked {
    request: u64,
    /// The hash of the file when it was asked for.
    hash: Option<String>,
    waiters: Vec<oneshot::Sender<Reply>>,
}

/// What the server said to a save. It says that all went well also where nothing was written: the disk is full, the file
/// is read-only, another save came between (`DocumentRoom._maybe_save_document` of jupyter-server-ydoc 3). Only a new hash
/// tells that the file was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) outcome: SaveOutcome,
    /// The hash of the file when the save was asked for.
    pub(super) hash: Option<String>,
}

impl Saves {
    /// Asks for a save of all that was changed so far; the frame to send now, if any. `None` if the server saves by itself.
    #[allow(clippy::type_complexity, reason = "two answers to one question")]
    pub(super) fn ask(
        &mut self,
        room: &mut Room,
        live: &LiveNotebook,
    ) -> (Option<Vec<u8>>, oneshot::Receiver<Reply>) {
        let (waiter, reply) = oneshot::channel();
        self.waiting.push(waiter);
        if self.asked.as_ref().is_some_and(|asked| asked.waiters.iter().all(oneshot::Sender::is_closed)) {
            // Nobody waits for it any more, perhaps because the server never answered.
            self.asked = None;
        }
        let frame = if self.asked.is_none() { self.next(room, live) } else { None };
        (frame, reply)
    }

    /// The frame of the next request, for all who wait.
    fn next(&mut self, room: &mut Room, live: &LiveNotebook) -> Option<Vec<u8>> {
        self.waiting.retain(|waiter| !waiter.is_closed());
        if self.waiting.is_empty() {
            return None;
        }
        let SaveRequest { id: request, frame } = room.save();
        self.asked = Some(Asked { request, hash: live.hash(), waiters: std::mem::take(&mut self.waiting) });
        Some(frame)
    }

    /// A request has been answered; the frame of the next, if somebody waits for one.
    pub(super) fn answered(
        &mut self,
        request: u64,
        outcome: SaveOutcome,
        room: &mut Room,
        live: &LiveNotebook,
    ) -> Option<Vec<u8>> {
        let asked = self.asked.take_if(|asked| asked.request == request)?;
        for waiter in asked.waiters {
            let _ = waiter.send(Reply { outcome, hash: asked.hash.clone() });
        }
        self.next(room, live)
    }

    /// The connection is gone, and with it all answers.
    pub(super) fn lost(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_while_a_save_is_on_its_way_shares_the_next() {
        let live = LiveNotebook::new();
        let (mut room, _) = Room::open(&live);
        let mut saves = Saves::default();
        let (first, mut one) = saves.ask(&mut room, &live);
        let (second, mut two) = saves.ask(&mut room, &live);
        let (third, mut three) = saves.ask(&mut room, &live);
        assert!(first.is_some() && second.is_none() && third.is_none());
        assert!(saves.answered(9, SaveOutcome::Saved, &mut room, &live).is_none(), "nobody asked for it");
        // The first save may have been made before the later edits came.
        assert!(saves.answered(1, SaveOutcome::Saved, &mut room, &live).is_some());
        assert_eq!(one.try_recv().unwrap().outcome, SaveOutcome::Saved);
        assert!(two.try_recv().is_err());
        assert!(saves.answered(2, SaveOutcome::Skipped, &mut room, &live).is_none());
        assert_eq!(two.try_recv().unwrap().outcome, SaveOutcome::Skipped);
        assert_eq!(three.try_recv().unwrap().outcome, SaveOutcome::Skipped);
    }

    #[test]
    fn a_save_that_nobody_waits_for_does_not_hold_up_the_next() {
        let live = LiveNotebook::new();
        let (mut room, _) = Room::open(&live);
        let mut saves = Saves::default();
        drop(saves.ask(&mut room, &live));
        let (frame, mut reply) = saves.ask(&mut room, &live);
        assert!(frame.is_some());
        saves.lost();
        assert!(matches!(reply.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
}
