//! What all connections share, whatever they carry: timeouts, pings, and the envelope of JSON-RPC messages. Without I/O;
//! time is passed in.

mod json_rpc;
mod liveness;
mod network_timeout;

pub use json_rpc::Envelope;
pub use liveness::{Beat, Liveness};
pub use network_timeout::NetworkTimeout;
