use std::path::PathBuf;

use notebook::CellId;
use serde::{Deserialize, Serialize};

/// The `data` of an [`Announcement`](kernel::log::Announcement) in a keeper's log: what a later server must know about the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnnouncedData {
    /// Without symbolic links: another server may work in another folder.
    pub notebook: Option<PathBuf>,
    /// Where code of no notebook was to run.
    pub folder: Option<PathBuf>,
    /// The id of its cell.
    pub cell: Option<CellId>,
    pub source: String,
    /// What the cell showed before the run.
    pub shown_before: Option<String>,
    /// The agent that requested the run.
    pub agent: String,
}
