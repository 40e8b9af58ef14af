//! Connects a Google Colab tab: the page in the person's browser opens a WebSocket to a port on loopback and is an
//! MCP server there. [`Colab`] offers its tools as a [`workspace::Relay`].
//!
//! State machines without sockets: `handshake` authorizes a connection, `page_session` speaks MCP with one page,
//! and `browser_activity` explains why no tab is connected. Around them,
//! `bridge` accepts connections, `driver` and `socket` move frames, and `page` holds the calls in flight.
//! `connect_tool` opens a tab, and `relay` puts all of it together.

mod bridge;
mod browser;
mod browser_activity;
mod connect_tool;
mod driver;
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod json_rpc;
mod listener;
mod notebook_url;
mod page;
mod page_session;
mod relay;
mod socket;
mod tools;

pub use browser::Browser;
pub use listener::{BindError, Listener};
pub use relay::{BadDefinitions, Colab, GROUP, Settings};
