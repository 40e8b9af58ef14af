//! Renames and causes as the users of the crate see them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here has said enough")]

mod nondeterminism;
mod plain_cell;
mod rename;
