//! Logs of what a kernel was sent and what it sent, from which later servers learn how runs ended. No I/O.
//!
//! The keeper of a kernel writes one, and a server writes one of the runs on a Jupyter server's kernel. [`LogRecord`] is the format,
//! [`Runs`] follows the runs of a log.

mod frame;
mod peek;
mod record;
mod runs;

pub use frame::{FrameReader, write_frame};
pub use notebook::RunId;
pub use peek::Peek;
pub use record::{
    Announcement, FormatError, LogEvent, LogRecord, RecordReader, put_json, put_message, read_json,
    read_message,
};
pub use runs::{AdoptedRun, ClientId, LogDecision, Runs};

pub use crate::messages::Channel;
