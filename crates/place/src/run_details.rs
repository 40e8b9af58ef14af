//! What is announced of a run.

use std::path::PathBuf;

use kernel::log::Announcement;
use notebook::CellId;
use serde::{Deserialize, Serialize};

use crate::{NotebookPath, RunId};

/// What a later server has to know about a run to store its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunDetails {
    #[serde(skip)]
    pub run: RunId,
    /// The notebook of its cell.
    pub notebook: Option<NotebookPath>,
    /// The folder of code that belongs to no notebook, in a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    pub cell: Option<CellId>,
    pub source: String,
    /// [`Cell::shown_revision`](notebook::Cell::shown_revision) of the cell before the run; `None` if nobody looked.
    pub shown_before: Option<String>,
    /// The agent that requested it; empty if that is not known.
    pub agent: String,
}

impl RunDetails {
    /// The run with this announcement, whose paths are as its writer has put them.
    pub fn announced(announcement: &Announcement) -> Self {
        let details = Self::deserialize(&announcement.data).unwrap_or_default();
        Self { run: announcement.run.clone(), ..details }
    }

    /// Announces it, as long as its request is not sent.
    pub fn announcement(&self) -> Announcement {
        let data = serde_json::to_value(self).unwrap_or_default();
        Announcement { run: self.run.clone(), message: None, data }
    }
}
