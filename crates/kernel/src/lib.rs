//! Talks to Jupyter kernels: one state machine for executions, and its shells for `ZeroMQ` and for
//! the WebSocket of a Jupyter server.
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
mod reach;
mod reply;
mod signature;
mod sockets;
mod text;
mod transport;
mod websocket;
mod zmq;

pub use client::{Client, KernelInfo};
pub use error::KernelError;
pub use event::{Event, Execute, ExecutionId, Outcome, Sink, Status};
pub use jupyter_protocol::ConnectionInfo;
pub use outputs::OutputArea;
pub use websocket::{Dial, DialError, Dialed, Socket, connect_websocket};
pub use zmq::connect;
