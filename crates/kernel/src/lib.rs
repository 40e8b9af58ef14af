//! Talks to Jupyter kernels: one state machine for executions, and its transports over `ZeroMQ` and over the WebSocket of a
//! Jupyter server.
//!
//! A transport of another crate implements [`Transport`], and [`drive`] makes a [`Client`] of it.
//!
//! The protocol is <https://jupyter-client.readthedocs.io/en/stable/messaging.html>. Outputs are never parsed and printed
//! again: they are slices of the message as it came.

mod client;
mod command;
mod connector;
mod driver;
mod error;
mod execution;
mod kernel_sockets;
pub mod log;
mod memory;
mod messages;
mod readiness;
mod transport;
mod widgets;

pub use client::{Client, input_reply};
pub use connector::Ready;
pub use driver::{Driver, drive};
pub use error::KernelError;
pub use execution::{Event, ExecutionId, LossCause, Outcome, OutputArea, Sink, Status};
pub use jupyter_protocol::ConnectionInfo;
pub use kernel_sockets::{KernelSockets, SocketsEnd};
pub use memory::MemoryError;
pub use messages::{Message, Outgoing, write_parts};
pub use transport::websocket::{
    Dial, DialError, Dialed, RecordLog, SessionLog, Socket, TimedEvents, connect_logged, connect_websocket,
    read_logged,
};
pub use transport::zmq::{Probe, connect, probe};
pub use transport::{GapCause, Observation, Received, RunAnnouncement, Sequence, Transport};
pub use widgets::{has_models, saved_widgets, shown_widgets, widget_text};
