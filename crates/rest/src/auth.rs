//! Authentication to a server.

pub(crate) mod denial;
pub(crate) mod forwarded;
pub(crate) mod issued;
pub(crate) mod login;
