//! Jupyter messages as they are read and written: header, parent header, metadata, content.

pub(crate) mod content;
pub(crate) mod json_string;
mod message;
mod reply;
mod signature;
pub(crate) mod wire;

pub use message::Channel;
#[cfg(test)]
pub(crate) use message::Header;
pub(crate) use message::{Message, Outgoing, write};
pub(crate) use reply::{Reply, UNNAMED};
