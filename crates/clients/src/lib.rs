//! MCP clients: where each keeps its configuration, what an entry for our server looks like there, and edits that
//! change nothing else in the file.
//!
//! `table` is the data, one value for each client. `edit` computes new text from text; `change` reads and writes files.

mod change;
mod client;
mod configuration;
mod edit;
mod entry;
mod file;
mod ledger;
mod location;
mod secrets;
mod table;

pub use change::{ChangeError, FileChange, install, uninstall};
pub use client::{Client, Command, Format, Http, Secrets, Stdio, WorkingFolder};
pub use configuration::{Configured, Starts};
pub use edit::EditObstacle;
pub use entry::{Block, NotPossible, ServerEntry, Start};
pub use file::FileError;
pub use ledger::Ledger;
pub use location::{Base, Location, Machine, Scope, System};
pub use secrets::{has_secret_parts, is_secret_name, masked_arguments};
pub use table::CLIENTS;

/// The name of our entry in every client's configuration.
pub const NAME: &str = "cellbridge";
