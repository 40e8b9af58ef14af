//! What is said of cells after people and agents have worked on a notebook.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here has said enough")]

mod added;
mod again;
mod axes;
mod calls;
mod classes;
mod edits;
mod fresh_run;
mod identity;
mod large;
mod memory;
mod methods;
mod objects;
mod orders;
mod patches;
mod plans;
mod seeds;
mod shared;
mod stories;
mod story;
mod table;
