//! Why a kernel cannot be reached or does not do as asked.

use std::time::Duration;

/// A failure between us and a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The connection's description cannot be used.
    #[error("the connection to the kernel is not usable: {cause}")]
    Unusable {
        /// What is wrong with it.
        cause: String,
    },
    /// The kernel did not get ready in time.
    #[error("the kernel did not answer within {} s: {cause}", waited.as_secs_f32())]
    NotReady {
        /// How long it had.
        waited: Duration,
        /// What was missing.
        cause: String,
    },
    /// The kernel did not answer a request in time.
    #[error("the kernel did not answer {request} within {} s", waited.as_secs_f32())]
    NoAnswer {
        /// The kind of message.
        request: &'static str,
        /// How long it had.
        waited: Duration,
    },
    /// The kernel refused a request.
    #[error("the kernel refused {request}: {cause}")]
    Refused {
        /// The kind of message.
        request: &'static str,
        /// What it said.
        cause: String,
    },
    /// The kernel is gone.
    #[error("the kernel died: {how}")]
    Died {
        /// How it ended.
        how: String,
    },
}
