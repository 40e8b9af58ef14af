//! Logs of our runs on a server's kernel, and of those that wait for a kernel of this machine, so that our next server finds them again.
//!
//! Each connection, and each server of a folder, has a file of its own, which exists while there are runs in it that are not acknowledged. Its owner holds a
//! lock on it; the system releases the lock when the owner ends, however that happens, and another server claims the file by
//! taking the lock.
//!
//! What is written survives the end of any process; nothing is forced to the disk.

mod folder;
mod past;
mod run_log;

pub use folder::{CurrentLog, RunLogs};
pub use past::{Header, Past};
pub use run_log::RunLog;
