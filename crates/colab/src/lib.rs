//! The Colab bridge, the tab's side: a page in a person's browser connects to a port on loopback and is an MCP
//! server there, whose tools this crate offers as a [`workspace::Relay`].
//!
//! [`Listener`] is the port. `handshake` decides who may in, `session` speaks MCP with one page, `heartbeat`
//! notices one that is gone and `sightings` knows what to tell a person: state machines without sockets.
//! `bridge`, `page`, `driver` and `socket` are the shells around them. `connect` brings a tab here; `relay` puts it together.

mod address;
mod bridge;
mod browser;
mod connect;
mod driver;
mod envelope;
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod heartbeat;
mod listener;
mod page;
mod relay;
mod session;
mod sightings;
mod socket;
mod tools;

pub use browser::Browser;
pub use listener::{BindError, Listener};
pub use relay::{BadDefinitions, Colab, Settings};
