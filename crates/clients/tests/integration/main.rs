//! The configurations of all clients, as files in a home folder.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod files;
mod golden;
mod home;
mod windows;
