//! Asks a kernel that works and says nothing for a sign of life.
//!
//! Where its process cannot be watched, somebody may start it anew without our hearing of it, and the new process knows
//! nothing of what the last one ran. Its answer shows that it is another.

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use crate::message::{Channel, Outgoing};

/// How long a kernel that works may be silent.
const SILENCE: Duration = Duration::from_secs(5);

/// Since when the kernel has been silent; nothing where that does not matter.
#[derive(Debug, Default)]
pub(super) struct Silence(Option<Instant>);

impl Silence {
    /// From now on it matters.
    pub(super) fn mind(&mut self, now: Instant) {
        self.0 = Some(now);
    }

    /// The kernel said something, or there was no reason for it to do so.
    pub(super) fn end(&mut self, now: Instant) {
        if let Some(since) = &mut self.0 {
            *since = now;
        }
    }

    /// When it has lasted too long.
    pub(super) fn limit(&self) -> Option<Instant> {
        self.0.map(|since| since + SILENCE)
    }

    /// The question, if it has lasted too long. It goes over the control channel, because the shell channel waits for
    /// what runs.
    pub(super) fn question(&mut self, now: Instant) -> Option<Outgoing> {
        self.limit().filter(|limit| *limit <= now)?;
        self.end(now);
        Some((Channel::Control, JupyterMessage::new(KernelInfoRequest {}, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_silence_is_asked_about_again_and_again() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert!(silence.limit().is_none() && silence.question(start + SILENCE).is_none());
        silence.mind(start);
        assert!(silence.question(start + SILENCE / 2).is_none());
        let (channel, question) = silence.question(start + SILENCE).unwrap();
        assert_eq!((channel, &*question.header.msg_type), (Channel::Control, "kernel_info_request"));
        assert!(silence.question(start + SILENCE).is_none());
        assert!(silence.question(start + 2 * SILENCE).is_some());
        silence.end(start + 3 * SILENCE);
        assert!(silence.question(start + 3 * SILENCE + SILENCE / 2).is_none());
    }
}
