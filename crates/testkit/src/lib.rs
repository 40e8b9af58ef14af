//! Fakes and clients for the tests: an agent, a Colab tab, an HTTP client, and raw sockets.
//!
//! Verbs read like a transcript. Every wait has a bound, every surprise on a wire is an error, and payloads can
//! be had as the text that was on the wire, because much of what is tested is that nothing is re-typed.

mod agent;
mod connection;
mod handshake;
mod http;
mod message;
mod page;
mod program;
mod tab;
mod within;

pub use agent::Agent;
pub use connection::Connection;
pub use handshake::{Upgrade, exchange, exchange_bytewise, silent};
pub use http::{Endpoint, Reply, Session};
pub use message::Message;
pub use page::{Page, SEVEN_AND_ECHO, Serving, text_result};
pub use program::Program;
pub use rustix::process::Signal;
pub use tab::{Options, Tab};
pub use within::{TIMEOUT, within};
