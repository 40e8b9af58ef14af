//! Asks a kernel that works and says nothing for a sign of life.
//!
//! Where its process cannot be watched, somebody may start it anew without our hearing of it, and the new process knows
//! nothing of what the last one ran. Its answer shows that it is another.

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use crate::message::{Channel, Outgoing};

/// How long a kernel that works may be silent.
const SILENCE: Duration = Duration::from_secs(5);

/// How long the kernel has been silent.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Nothing where it does not matter.
    since: Option<Instant>,
    is_asked: bool,
}

impl Silence {
    /// From now on it matters.
    pub(super) fn mind(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// The kernel said something, or there was no reason for it to do so.
    pub(super) fn end(&mut self, now: Instant) {
        self.since = self.since.map(|_| now);
        self.is_asked = false;
    }

    /// When it has lasted too long.
    pub(super) fn limit(&self) -> Option<Instant> {
        self.since.map(|since| since + SILENCE)
    }

    pub(super) fn is_too_long(&self, now: Instant) -> bool {
        self.limit().is_some_and(|limit| limit <= now)
    }

    /// Whether the kernel was asked for a sign of life and has been silent since.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Waits anew, now for the answer to the question that is given. It goes over the control channel, because the shell
    /// channel waits for what runs.
    pub(super) fn ask(&mut self, now: Instant) -> Outgoing {
        self.end(now);
        self.is_asked = true;
        (Channel::Control, JupyterMessage::new(KernelInfoRequest {}, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_too_long_after_a_while_in_which_nothing_was_said() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert!(silence.limit().is_none() && !silence.is_too_long(start + SILENCE));
        silence.mind(start);
        assert!(!silence.is_too_long(start + SILENCE / 2));
        assert!(silence.is_too_long(start + SILENCE));
        let (channel, question) = silence.ask(start + SILENCE);
        assert_eq!((channel, &*question.header.msg_type), (Channel::Control, "kernel_info_request"));
        assert!(silence.is_asked() && !silence.is_too_long(start + SILENCE * 3 / 2));
        assert!(silence.is_too_long(start + 2 * SILENCE));
        silence.end(start + 2 * SILENCE);
        assert!(!silence.is_asked() && !silence.is_too_long(start + SILENCE * 5 / 2));
    }
}
