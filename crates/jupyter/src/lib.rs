//! Jupyter servers as places: live documents, files and kernels, over HTTP and WebSocket.

mod connector;
mod documents;
mod failure;
mod jupyterlab;
mod kernels;
mod listing;
mod paths;
mod place;
mod running_server;
mod server_handle;
mod settings;
#[cfg(test)]
mod testing;
mod viewer;

pub use ::kernel::ConnectionInfo;
pub use connector::JupyterConnector;
pub use place::Jupyter;
pub use settings::{Capabilities, InProcessServer, Machine, Settings, Source};
pub use viewer::{ServerNotebook, Viewer};
