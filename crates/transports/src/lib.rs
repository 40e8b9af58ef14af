//! How kernels are reached: directly over `ZeroMQ`, or over the WebSocket of a Jupyter server.
//!
//! Both are a [`kernel::Transport`], which [`kernel::connector::connect`] makes a [`kernel::Client`] of. [`KernelSockets`] passes
//! messages on as they are.

mod kernel_sockets;
mod websocket;
mod zmq;

pub use kernel_sockets::{KernelSockets, SocketsEnd};
pub use websocket::{
    Dial, DialError, Dialed, RecordLog, SessionLog, Socket, connect_logged, connect_websocket, read_logged,
};
pub use zmq::{Probe, connect, probe};
