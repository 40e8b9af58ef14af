//! Jupyter's REST API, one file for each resource.

pub(crate) mod contents;
pub(crate) mod documents;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod kernels;
pub(crate) mod kernelspecs;
mod lenient;
pub(crate) mod rights;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod websocket;
