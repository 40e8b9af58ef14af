//! Checks and bounds that all TCP listeners of this program share: `connections` bounds the connections of strangers, `policy` checks Host, Origin and
//! token of their requests, and `websocket` accepts a WebSocket.

mod connections;
mod policy;
mod websocket;

pub use connections::{Caller, Door, Limits, serve};
pub use policy::{Origins, Policy, Refusal, candidates};
pub use websocket::accept;
