//! Connects Google Colab tabs: the page in the person's browser opens a WebSocket to a port on loopback and is an MCP
//! server there. [`Colab`] offers the first tab's tools as a [`place::Relay`], and the notebooks of all tabs as a
//! [`place::Place`].
//!
//! State machines without sockets: `page_session` speaks MCP with one page, and `browser_activity` explains why a tab is not
//! connected. Around them, `bridge` answers connections, which `handshake` authorizes, `tab_connection`
//! keeps the page of one tab, `driver` and `socket` move frames, and `page` holds the calls in flight.
//! `connect_tool` opens a tab in a `browser`, through a `redirect` file, `tab` calls its tools, `tabs` knows them all, `place`,
//! `document` and `tab_kernel` make a place of them, `seen_tabs` is that place as the person's page looks at it, and `relay` puts all
//! of it together.

mod bridge;
mod browser;
mod browser_activity;
mod connect_tool;
mod document;
mod driver;
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod json_rpc;
mod listener;
mod notebook_url;
mod page;
mod page_session;
mod place;
mod redirect;
mod relay;
mod sandbox;
mod seen_tabs;
mod socket;
mod tab;
mod tab_connection;
mod tab_kernel;
mod tabs;
mod tools;

pub use browser::{Browser, BrowserCommand, Desktop};
pub use browser_activity::Attempt;
pub use listener::{BindError, Listener};
pub use place::ColabPlace;
pub use relay::{Colab, FURTHER_TABS, GROUP, Settings};
pub use seen_tabs::SeenTab;
