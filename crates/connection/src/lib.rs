//! What all connections wait for, whatever they carry. State machines without I/O: time is passed in.

mod liveness;
mod network_timeout;

pub use liveness::{Beat, Liveness};
pub use network_timeout::NetworkTimeout;
