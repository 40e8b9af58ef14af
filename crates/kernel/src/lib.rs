//! Talks to Jupyter kernels: one state machine for executions, and its shell for `ZeroMQ`.
//!
//! The protocol is that of <https://jupyter-client.readthedocs.io/en/stable/messaging.html>. What a kernel displays
//! is never re-typed: it is cut from the message as it came.

mod client;
mod content;
mod driver;
mod error;
mod event;
mod execution;
mod handshake;
mod inputs;
mod message;
mod outputs;
mod reply;
mod signature;
mod sockets;
mod text;
mod transport;
mod zmq;

pub use client::{Client, KernelInfo};
pub use error::KernelError;
pub use event::{Event, Execute, ExecutionId, Outcome, Sink, Status};
pub use jupyter_protocol::ConnectionInfo;
pub use outputs::OutputArea;
pub use zmq::connect;
