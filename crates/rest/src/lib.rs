//! A Jupyter server over HTTP: its address as people paste it, logins, the REST API, sockets, and the Hub before it.
//!
//! Nothing here follows a redirect. A redirect is how servers say "log in", "still starting" or "moved", and each of
//! these is worth a sentence; following one could carry a token to another origin.

mod address;
mod body;
mod client;
mod contents;
mod diagnosis;
pub mod discover;
mod documents;
mod error;
mod events;
mod forwarded;
pub mod hub;
mod kernels;
mod kernelspecs;
mod lenient;
mod login;
mod options;
mod path;
mod random;
mod secret;
mod server;
mod sessions;
mod status;
mod websocket;

pub use address::Address;
pub use contents::{Entry, EntryKind, Want};
pub use documents::{CollaborationSession, room_path};
pub use error::{Kind, RestError, Result};
pub use events::EVENTS;
pub use forwarded::Forwarded;
pub use kernels::{KernelModel, channels_path};
pub use kernelspecs::{Kernelspec, Kernelspecs};
pub use options::{Credentials, Options, Proxies};
pub use secret::Secret;
pub use server::Server;
pub use sessions::{NewSession, SessionChange, SessionKernel, SessionModel};
pub use status::Status;
pub use websocket::{Io, Socket, Upgraded, stream};

#[cfg(test)]
mod testing;
