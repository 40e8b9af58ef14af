//! Names as the users of the crate see them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here has said enough")]

mod cells;
mod corpus;
mod limits;
mod renamed;
mod undefined;
