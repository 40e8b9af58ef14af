//! Client for a Jupyter server over HTTP: addresses as people paste them, logins, the REST API, web sockets, and the Hub.
//!
//! Never follows a redirect: servers redirect to say "log in", "still starting" or "moved", which need different
//! explanations, and following one could send a token to another origin.

mod address;
mod api;
mod auth;
mod body;
mod certificates;
mod client;
mod diagnosis;
pub mod discovery;
mod error;
pub mod hub;
mod options;
mod path;
mod proxy;
mod random;
mod request;
mod sender;
mod server;

pub use address::Address;
pub use api::contents::{ContentsQuery, Entry, EntryKind};
pub use api::documents::{CollaborationSession, room_path};
pub use api::events::EVENTS;
pub use api::files::{Download, Upload};
pub use api::kernels::{KernelModel, channels_path};
pub use api::kernelspecs::{Kernelspec, Kernelspecs};
pub use api::rights::{LiveExtension, Rights};
pub use api::sessions::{SessionKernel, SessionModel};
pub use api::websocket::{Socket, SocketStream};
pub use auth::forwarded::Forwarded;
pub use auth::issued::TokenIssuer;
pub use connection::{NextStep, Secret};
pub use diagnosis::{safe, unreached};
pub use error::{Kind, RestError, Result};
pub use options::{Credentials, Options, PrivateSocket, Proxies};
pub use proxy::ServerProxy;
pub use server::Server;

#[cfg(test)]
mod testing;
