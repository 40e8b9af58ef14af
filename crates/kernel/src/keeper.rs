//! The protocol between a keeper and its clients, and what both need of it. No I/O, except in [`KernelSockets`].
//!
//! A keeper is the parent of one kernel, and outlives the server that started it. It appends every message to a log, and serves
//! the log to clients over a private Unix socket:
//!
//! | client | keeper |
//! |---|---|
//! | [`ClientFrame::Hello`] with its version | [`KeeperFrame::Welcome`], or [`KeeperFrame::Refused`] |
//! | [`ClientFrame::Adopt`] | [`KeeperFrame::Adopted`]: the runs that have no owner now belong to this client |
//! | [`ClientFrame::Follow`] from an offset | [`KeeperFrame::Records`]: the log from there on, and everything that comes |
//! | [`ClientFrame::Note`] about a run, then [`ClientFrame::Send`] | both appear in the log, before the kernel gets the message |
//! | [`ClientFrame::Store`] | the outputs of a run are in its cell; the next client has to tell of it |
//! | [`ClientFrame::Acknowledge`] | that is done: later clients are only shown the run, as long as the log has room |
//!
//! A keeper reads the headers of messages and the `execution_state` of a `status`, no other content, and knows no notebooks.
//! Old keepers serve new clients: both ignore fields, frames and records that they do not know.

mod frame;
mod peek;
mod protocol;
mod record;
mod runs;
mod sockets;

pub use frame::{FrameError, FrameReader, MAX_FRAME_BYTES, write_frame};
pub use peek::Peek;
pub use protocol::{
    AdoptedRun, AdoptedRuns, ClientFrame, Hello, KeeperFrame, KernelPhase, KernelStatus, Note, VERSION,
    Welcome,
};
pub use record::{KeeperEvent, LogRecord, MAX_RECORD_BYTES, RecordReader};
pub use runs::{ClientId, LogDecision, Runs};
pub use sockets::{KernelSockets, SocketsEnd};

pub use crate::messages::Channel;
#[cfg(unix)]
pub use crate::transport::framed::{FramedRead, FramedWrite};
#[cfg(unix)]
pub use crate::transport::kept::{
    Connect, KeeperHandle, Kept, OrphanedExecution, ReadLog, TimedEvents, connect_kept, end, greet,
};
