//! Jupyter servers as places: live documents, files, kernels, over HTTP and WebSocket.

mod channels;
mod commands;
mod connect;
mod document;
mod documents;
mod failure;
mod kernel;
mod kernels;
mod kernelspecs;
mod link;
mod listing;
mod paths;
mod room;
mod server;
mod settings;
mod specs;
mod stored;
#[cfg(test)]
mod testing;
mod time;

pub use ::kernel::ConnectionInfo;
pub use connect::Dialer;
pub use server::Jupyter;
pub use settings::{Direct, Lacks, Settings, Source};

/// Lines for people while something is prepared.
type Lines = tokio::sync::mpsc::Sender<String>;
