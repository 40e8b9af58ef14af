//! How agents reach the server: over stdio, HTTP and WebSocket, and inside another HTTP server.

mod accept;
mod admin_api;
mod body;
mod detached_calls;
pub(crate) mod embedded;
pub(crate) mod http;
pub(crate) mod http_auth;
mod line_writer;
pub(crate) mod session_pool;
mod sse;
pub(crate) mod stdio;
mod websocket;

pub(crate) use detached_calls::CallStream;
