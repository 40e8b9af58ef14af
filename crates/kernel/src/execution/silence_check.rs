//! Asks a kernel that runs code and is silent whether it still exists.
//!
//! Where we do not own its process, somebody may restart it unnoticed, and the new process knows nothing of what the old one
//! ran. Its answer shows that it is another process.

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use crate::messages::{Channel, Outgoing};

/// How long a kernel that runs code may be silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct SilenceCheck {
    /// None where it is not watched.
    silent_since: Option<Instant>,
    is_asked: bool,
}

impl SilenceCheck {
    /// From now on a kernel that runs code and is silent is asked whether it still exists.
    pub(crate) fn watch(&mut self, now: Instant) {
        self.silent_since = Some(now);
    }

    /// The kernel sent something, or had no reason to.
    pub(super) fn reset(&mut self, now: Instant) {
        self.silent_since = self.silent_since.map(|_| now);
        self.is_asked = false;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.silent_since.map(|since| since + SILENCE_TIMEOUT)
    }

    pub(super) fn is_timed_out(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Whether the kernel was asked and has sent nothing since.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The question to send. It goes over the control channel, because the shell channel waits for the code that runs.
    pub(super) fn ask(&mut self, now: Instant) -> Outgoing {
        self.reset(now);
        self.is_asked = true;
        (Channel::Control, JupyterMessage::new(KernelInfoRequest {}, None))
    }
}
