//! Compares the outputs of two runs of a cell, each kind by its content: text, JSON by value, markup with ids made equal, and
//! pictures by their pixels.
//!
//! Everything here is pure: the time in which the second run was made, and its code, are passed in.

mod bundle;
mod dates;
mod findings;
mod ids;
mod json;
mod markup;
mod outputs;
mod picture;
mod raw;
mod rerun;
mod texts;
mod volatile;

pub use findings::Comparison;
pub use outputs::{compare, difference, without_pages};
pub use rerun::Rerun;

#[cfg(test)]
mod tests;
