//! Jupyter messages as they are read and written: header, parent header, metadata, content.

pub(crate) mod content;
pub(crate) mod json_string;
mod message;
mod reply;
mod signature;
pub(crate) mod wire;

#[cfg(test)]
pub(crate) use message::Header;
pub use message::{Channel, Message, Outgoing, write_parts};
pub(crate) use reply::{Reply, UNNAMED};
