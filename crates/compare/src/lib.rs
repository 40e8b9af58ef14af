//! Compares the outputs of two runs of a cell.
//!
//! Everything here is pure: the time in which the second run was made is passed in.

mod dates;
mod outputs;
mod texts;

pub use outputs::{are_same_outputs, readable};
