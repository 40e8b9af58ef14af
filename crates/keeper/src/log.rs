//! The log of a keeper: its files, and what they say about runs.

mod entries;
mod files;
mod followed;

pub(crate) use entries::read_entries;
pub use entries::{LogEntry, LogEntryKind, logged_run, logged_runs};
pub(crate) use files::{Log, LogReader, read_piece};
pub use followed::LogFollower;
