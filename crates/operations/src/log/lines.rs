//! The lines of a log: a header, then an operation in each.

use serde::{Deserialize, Serialize};

use crate::{Operation, OperationId};

/// The version of the log that this program writes.
pub(super) const VERSION: u32 = 1;
pub(super) const LOG: &str = "log";

/// The first line of a log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: u32,
    /// What identifies the notebook.
    pub(super) notebook: String,
}

/// The operations in the text of a log. What is no operation is skipped.
pub(super) fn operations(text: &[u8]) -> impl Iterator<Item = Operation> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Operation>(line).ok())
        .filter(|operation| operation.id > OperationId::default())
}
