//! Requests to save, of which one is on its way at a time: what is asked for meanwhile shares the next.

use tokio::sync::oneshot;
use ydoc::{LiveNotebook, Room, Save, SaveOutcome};

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
        let Save::Asked { request, frame } = room.save(live) else { return None };
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
