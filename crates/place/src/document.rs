//! A notebook of a place, which is edited by operations on cells.

use std::fmt;
use std::future::ready;
use std::time::Instant;

use futures_util::future::BoxFuture;
use notebook::{Cell, CellId, Edit, Notebook, one_line};
use operations::IdRecord;
use tokio::sync::watch;

use crate::{Error, ErrorKind, Future, NextStep, NotebookPath, SessionId};

/// A notebook, wherever it is stored.
pub trait Document: Send + Sync + 'static {
    /// Its path, with the prefix of the place.
    fn path(&self) -> &NotebookPath;

    /// The current notebook, including changes by others.
    fn snapshot(&self) -> Future<'_, Notebook>;

    /// The notebook as it was at `since` or later: what was compared with the store by then is not read again.
    fn snapshot_since(&self, _since: Instant) -> Future<'_, Notebook> {
        self.snapshot()
    }

    /// Applies all of `edits` or none to the newest state, one caller at a time. Returns when they are stored, or as
    /// soon as it is clear that storing takes longer.
    ///
    /// Fails without storing anything if a cell of `expected` was deleted or has another revision; the error contains
    /// the new source.
    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied>;

    /// A counter that changes when somebody else has changed the notebook.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Whether others see changes at once, so that outputs are worth writing while a run goes on.
    fn is_live(&self) -> bool {
        false
    }

    /// Applies edits that others should see now, and that a later [`Document::apply`] stores: outputs of an unfinished
    /// run. Returns whether others can see them; if not, they have to be shown again.
    fn show(&self, edits: Vec<Edit>) -> Future<'_, bool> {
        Box::pin(async { self.apply(edits, Vec::new()).await.map(|_| true) })
    }

    /// Whether outputs of runs are stored by whatever runs the cells, as an application does that runs its own notebook.
    /// If not, the run writes them.
    fn stores_outputs(&self) -> bool {
        false
    }

    /// Shows others whether a cell is running.
    fn set_running(&self, _cell: &CellId, _is_running: bool) -> Future<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// The cells that run, as far as the document shows it. Never waits.
    fn running_cells(&self) -> Vec<CellId> {
        Vec::new()
    }

    /// Shows others where the agent of a session works; `None` if it has left.
    fn set_presence(&self, _session: SessionId, _presence: Option<Presence>) {}

    /// The cell with the cursor of the person who moved last, if that is known. Never waits.
    fn selected(&self) -> Option<CellId> {
        None
    }

    /// Takes the ids of cells that the file does not tell apart from a record, and keeps them there from now on. Only the first record
    /// counts.
    fn record_ids(&self, _record: IdRecord) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Releases connections and memory while no session uses the notebook. Any later call resumes it.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// What an agent should know about how this notebook is stored.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// The name of the agent.
    pub name: String,
    /// The cell that it works on.
    pub cell: Option<CellId>,
}

/// A notebook after an edit.
#[derive(Debug, Clone)]
pub struct Applied {
    pub notebook: Notebook,
    pub saved: SaveStatus,
}

/// Whether an edit is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveStatus {
    OnDisk,
    /// The file was renamed to this path.
    OnDiskAt(NotebookPath),
    /// Others see the edit, but it is not known to be in the file; the reason.
    NotYet(String),
    /// The edit is made in this application, which saves the notebook by itself.
    SavedBy(String),
}

impl fmt::Display for SaveStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDisk => f.write_str("saved to disk"),
            Self::OnDiskAt(path) => {
                write!(f, "saved to disk as {}, to which the notebook was renamed", one_line(path))
            }
            Self::NotYet(why) => write!(f, "NOT yet on disk: {why}"),
            Self::SavedBy(application) => write!(f, "made in {application}, which saves the notebook"),
        }
    }
}

/// The state of a cell that an edit relies on.
#[derive(Debug, Clone)]
pub struct Expected {
    pub id: CellId,
    /// `None` if the cell only has to exist.
    pub revision: Option<String>,
    /// The cell as it was read, if its outputs must be the same, too.
    pub read: Option<Cell>,
}

impl Expected {
    /// The cell still exists, whatever is in it.
    pub fn exists(cell: &Cell) -> Self {
        Self { id: cell.id().clone(), revision: None, read: None }
    }

    /// The whole cell as it was read, with its outputs.
    pub fn unchanged(cell: &Cell) -> Self {
        Self { id: cell.id().clone(), revision: Some(cell.revision().to_owned()), read: Some(cell.clone()) }
    }

    /// Fails if the cell was deleted, has another revision or, where they matter, other outputs. The error about another revision
    /// contains its source.
    pub fn check(&self, notebook: &Notebook) -> Result<(), Error> {
        let Self { id, revision, read } = self;
        let Some((_, cell)) = notebook.cell(id) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("Cell {id} no longer exists: it was deleted after you read it. Nothing was changed."),
                NextStep::ReadNotebook,
            ));
        };
        match revision {
            Some(revision) if revision != cell.revision() => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "Cell {id} changed after you read it (revision {revision}); nothing was changed. It is now \
                     (revision {}):\n{}",
                    cell.revision(),
                    cell.source()
                ),
                NextStep::EditRevision { revision: cell.revision().to_owned() },
            )),
            _ if read.as_ref().is_some_and(|it| !cell.has_outputs(&it.outputs(), it.execution_count())) => {
                Err(Error::new(
                    ErrorKind::Conflict,
                    format!("The outputs of cell {id} changed after you read it; nothing was changed."),
                    NextStep::ReadNotebook,
                ))
            }
            _ => Ok(()),
        }
    }
}
