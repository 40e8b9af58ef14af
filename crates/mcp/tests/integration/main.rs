//! The server over HTTP with a real client.

mod embedded;
mod http_connections;
mod http_sessions;
mod websocket;
