//! Logs of what a kernel was sent and what it sent, from which later servers learn how runs ended. No I/O.
//!
//! The keeper of a kernel writes one, and a server writes one of the runs on a Jupyter server's kernel. [`LogRecord`] is the format,
//! [`RunsInLog`] reads it for everybody who asks for runs, and [`Followed`] for those who go on with their executions.

mod followed;
mod owners;
mod peek;
mod record;
mod runs;

pub use followed::Followed;
pub use notebook::RunId;
pub use owners::{ClientId, LogDecision};
pub use peek::Peek;
pub use record::{
    Announcement, FormatError, LogEvent, LogRecord, RecordReader, frames, put_json, put_message, read_json,
    read_message,
};
pub use runs::{LoggedRun, RunRecord, RunStage, RunsInLog};

pub use crate::messages::Channel;
