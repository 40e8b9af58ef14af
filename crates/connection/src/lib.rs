//! Parts of all connections, whatever they carry: timeouts, pings, the envelope of JSON-RPC messages, secrets, and
//! the next steps after a failure. Without I/O but for random bytes; time is passed in.

mod json_rpc;
mod liveness;
mod network_timeout;
mod next_step;
mod secret;

pub use json_rpc::Envelope;
pub use liveness::{Beat, Liveness};
pub use network_timeout::NetworkTimeout;
pub use next_step::{NextStep, joined};
pub use secret::Secret;
