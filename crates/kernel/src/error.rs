use std::time::Duration;

use crate::LossCause;

/// Why a kernel cannot be reached, or does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The connection file, the server's answer or this machine makes a connection impossible.
    #[error("the connection to the kernel is not usable: {cause}")]
    Unusable { cause: String },
    #[error("the kernel did not answer within {} s: {cause}", waited.as_secs_f32())]
    NotReady { waited: Duration, cause: String },
    #[error("the kernel did not answer {request} within {} s", waited.as_secs_f32())]
    NoAnswer { request: &'static str, waited: Duration },
    #[error("the kernel refused {request}: {cause}")]
    Refused { request: &'static str, cause: String },
    #[error("{}", LossCause::LogFailed { os_error: *os_error })]
    LogFailed { os_error: i32 },
    #[error("the kernel died: {how}")]
    Died { how: String },
}
