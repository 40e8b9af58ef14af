//! Relayed calls pass through `rmcp` as text, so that no field or digit is lost.

pub(crate) mod call;
pub(crate) mod raw;
