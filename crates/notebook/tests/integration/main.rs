//! The notebook model as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here has said enough")]

mod assembled;
mod carried_ids;
mod corpus;
mod edits;
mod files;
mod large;
mod model;
mod reading;
mod versions;
