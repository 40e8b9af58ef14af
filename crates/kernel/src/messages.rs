//! Jupyter messages as they are read and written: header, parent header, metadata, content.

pub(crate) mod content;
pub(crate) mod handler_answer;
pub(crate) mod json_string;
mod message;
mod reply;

pub use json_string::Lenient;
pub(crate) use message::HeaderFields;
pub use message::{Channel, Header, Message, MessageId, Outgoing, write_parts};
pub(crate) use reply::{Reply, UNNAMED};
