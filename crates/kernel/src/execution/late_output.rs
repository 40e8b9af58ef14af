//! Whether a kernel may publish outputs after the `idle` that should follow them.
//!
//! The protocol says that all outputs come before `idle`. Deno publishes outputs and `idle` from different tasks, so that on
//! a busy machine `idle` often comes a few milliseconds before the result. An execution that ended with that `idle` would
//! report "no output" for code that has one.
//!
//! Waiting costs well-behaved kernels nothing:
//!
//! | kernel | its executions wait after `idle` |
//! |---|---|
//! | numbers its messages (`jupyter_client`, so `ipykernel` and those built on it) | never: it publishes in order |
//! | published 20 times before `idle`, and never after | never |
//! | published after `idle` once | always |
//! | any other | if nothing was published |

use std::time::Duration;

/// How long outputs may come after `idle`. They came up to 15 ms late on a machine with eight times more work than cores.
pub(super) const GRACE: Duration = Duration::from_millis(150);
/// How many executions with outputs before `idle` prove that a kernel publishes in order.
const PROOF: u32 = 20;

/// What is known about the order in which a kernel publishes.
#[derive(Debug, Default)]
pub(super) struct PublishOrder {
    is_numbered: bool,
    was_late: bool,
    /// How many executions had outputs before `idle`.
    in_order: u32,
}

impl PublishOrder {
    /// The kernel numbers its messages.
    pub(super) fn numbered(&mut self) {
        self.is_numbered = true;
    }

    /// An output came soon after `idle`.
    pub(super) fn late(&mut self) {
        self.was_late = true;
    }

    /// How long to wait for outputs of an execution of which `idle` and the reply came.
    pub(super) fn grace(&mut self, has_outputs: bool) -> Option<Duration> {
        if self.is_numbered {
            return None;
        }
        self.in_order += u32::from(has_outputs);
        let is_trusted = has_outputs || self.in_order >= PROOF;
        (self.was_late || !is_trusted).then_some(GRACE)
    }
}
