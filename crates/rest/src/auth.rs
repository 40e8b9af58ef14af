//! Authentication to a server.

pub(crate) mod forwarded;
pub(crate) mod login;
pub(crate) mod refusal;
