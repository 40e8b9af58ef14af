//! How kernels are reached: directly over `ZeroMQ`, or over the WebSocket of a Jupyter server.
//!
//! Both are a [`kernel::Transport`], which `connector` makes a [`kernel::Client`] of. [`KernelSockets`] passes
//! messages on as they are.

mod connector;
mod kernel_sockets;
mod readiness;
mod websocket;
mod zmq;

pub use kernel_sockets::{KernelSockets, SocketsEnd};
#[doc(hidden)]
pub use websocket::frame_messages;
pub use websocket::{
    Dial, DialError, Dialed, Outage, RecordLog, SessionLog, Socket, connect_websocket, read_logged,
};
pub use zmq::{Probe, connect, probe};
