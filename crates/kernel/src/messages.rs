//! Jupyter messages as they are read and written: header, parent header, metadata, content.

pub(crate) mod content;
pub(crate) mod json_string;
mod message;
mod reply;
pub(crate) mod signature;

#[cfg(test)]
pub(crate) use message::Header;
pub(crate) use message::{Channel, Message, Outgoing, write};
pub(crate) use reply::Reply;
