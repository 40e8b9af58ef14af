//! The traits of a place with notebooks and kernels. Tools use a place through these traits only.

use std::fmt;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use notebook::{Cell, CellId, Edit, Notebook, one_line};
use tokio::sync::watch;

use crate::executor::Executor;
use crate::file::{Existing, FileContent};
use crate::folder_copy::FolderCopy;
use crate::kernel_request::KernelRequest;
use crate::leftovers::Leftovers;
use crate::runs::{Orphan, RunDetails, RunState};
use crate::{Error, ErrorKind, KernelId, NextStep, NotebookPath, RunId, Secret, SessionId};

pub type Future<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Where notebooks and kernels live: a folder or a server.
pub trait Place: Send + Sync + 'static {
    /// The place as part of a sentence, for example `the folder /home/ada/work`.
    fn description(&self) -> String;

    /// The prefix of its paths as they are shown, which distinguishes places: `http://h:8888/`. Empty for the place
    /// that a program begins with. Accepted paths may omit it.
    #[expect(clippy::unnecessary_literal_bound, reason = "other places give what they own")]
    fn prefix(&self) -> &str {
        ""
    }

    /// What kind of place it is, as paths name it: `local` in `local:x.ipynb`. Empty if they cannot.
    fn scheme(&self) -> &'static str {
        ""
    }

    /// A prefix with which paths name this place, wherever an agent works: `local:`, `http://h:8888/`.
    fn name(&self) -> String {
        match self.prefix() {
            "" => format!("{}:", self.scheme()),
            prefix => prefix.to_owned(),
        }
    }

    /// The rest of a path that begins with a name of this place and of no other; `None` for other paths.
    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.prefix()).filter(|_| !self.prefix().is_empty())
    }

    /// What tells a notebook of this place from all others, in every program of this user.
    fn identity(&self, path: &NotebookPath) -> String {
        let rest = self.strip_name(path).unwrap_or(path).trim_start_matches('/');
        format!("{}{rest}", self.name())
    }

    /// The notebook to use if the agent names none and has opened none.
    fn first_notebook(&self) -> Option<NotebookPath> {
        None
    }

    /// Everything below the folder `path` (empty: the root), sorted by path. `max_depth` 0 lists only the folder itself.
    /// A folder that cannot be read is listed as [`FileKind::Unreadable`].
    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>>;

    /// Searches the place for notebooks, at most `limit` of them. Hidden folders and those of environments are left out.
    /// Bounded: a search that takes longer goes on in the background.
    fn notebooks(&self, limit: usize) -> Future<'_, FoundNotebooks>;

    /// Opens a notebook. Opening it again returns the same document.
    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>>;

    /// Whether files of any kind can be read and written, notebooks that nobody has opened included.
    fn has_files(&self) -> bool {
        false
    }

    /// Reads a file of any kind.
    fn read_file(&self, _path: &str) -> Future<'_, FileContent> {
        Box::pin(ready(Err(self.no_files())))
    }

    /// Writes all of a file or nothing; folders above it are created where the place can do so. Returns its path, with
    /// the prefix.
    fn write_file(&self, _path: &str, _content: FileContent, _existing: Existing) -> Future<'_, String> {
        Box::pin(ready(Err(self.no_files())))
    }

    /// Fails as [`Place::write_file`] would, as far as that can be known without writing. Returns the path, with the prefix, and
    /// whether there is a file.
    fn check_write(&self, _path: &str, _existing: Existing) -> Future<'_, (String, bool)> {
        Box::pin(ready(Err(self.no_files())))
    }

    /// The refusal of a place whose files cannot be reached.
    fn no_files(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!("The files of {} cannot be reached from here.", self.description()),
            "Code in a cell can list, read and write the files of its runtime.",
        )
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>>;

    /// The existing kernels, started or not.
    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>>;

    /// Why none of [`Place::kernels`] has this id.
    fn unknown_kernel(&self, id: &str) -> Error {
        Error::no_kernel(id)
    }

    /// Lets a later server know of a run for which a kernel is being chosen, in case this program ends before. Never waits.
    fn announce(&self, _note: &RunDetails) {}

    /// Withdraws an announced run: the kernel has it now, or it will not run. Never waits.
    fn retract(&self, _run: &RunId) {}

    /// What earlier servers have left and no server uses now. Bounded, and starts nothing.
    fn leftovers(&self) -> BoxFuture<'_, Leftovers> {
        Box::pin(ready(Leftovers::default()))
    }

    /// Finds a run of another server, which need not run any longer. Starts nothing.
    fn find_run(&self, _run: &RunId) -> Future<'_, Option<FoundRun>> {
        Box::pin(ready(Ok(None)))
    }

    /// The cells of a notebook that run or wait for their turn on kernels that other programs use, too, as far as that is known.
    /// Starts nothing.
    fn cells_to_run(&self, _notebook: &NotebookPath) -> Future<'_, Vec<CellId>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Chooses a kernel, and installs or starts what it needs.
    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice>;

    /// Copies the folder of a notebook to where a kernel can work in it.
    fn copy_folder(&self, _notebook: &NotebookPath) -> Future<'_, FolderCopy> {
        let cause = format!("The folders of {} cannot be copied.", self.description());
        let next = "Without copy, the code works in the notebook's folder.";
        Box::pin(ready(Err(Error::new(ErrorKind::Unsupported, cause, next))))
    }

    /// The frontend of the place, if one is connected. Never waits.
    fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        None
    }

    /// A counter that changes whenever the result of [`Place::frontend`] may have changed; `None` if it never does.
    fn frontend_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Ends the kernels that this place started. Returns in bounded time.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// Shows a place's notebooks to a person, as `JupyterLab` does.
pub trait Frontend: Send + Sync + 'static {
    /// Opens the notebook at `path` in front of the person. Fails if no frontend is open. Returns in bounded time.
    fn open(&self, path: &NotebookPath) -> Future<'_, ()>;
}

/// How a notebook is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It must exist.
    Connect,
    /// It must not exist.
    Create,
    /// It was open before: fails at once where a person would have to open it again.
    Reopen,
}

/// The notebooks that a search of a place has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundNotebooks {
    /// Their paths, sorted.
    pub paths: Vec<NotebookPath>,
    pub extent: SearchExtent,
}

/// How much of a place a search has covered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchExtent {
    /// All of it: there are no other notebooks.
    #[default]
    Complete,
    /// The search ended at its limit, so there may be more notebooks.
    Truncated,
    /// The search goes on in the background; a later call returns more.
    InProgress,
}

/// One row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The path from the root, with `/`.
    pub path: String,
    pub kind: FileKind,
    /// The size in bytes, for files.
    pub size: Option<u64>,
    /// The last change.
    pub modified: Option<SystemTime>,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// Any file but a notebook.
    File,
    Notebook,
    Directory,
    /// It cannot be read; the reason.
    Unreadable(String),
}

/// A kernel that could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelspecInfo {
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
}

/// The result of [`Place::kernel`].
pub enum KernelChoice {
    Kernel {
        kernel: Arc<dyn Kernel>,
        /// Whether this request created it.
        is_new: bool,
    },
    /// None yet: the first run starts this one, described for people.
    OnFirstRun(String),
}

/// A notebook, wherever it is stored.
pub trait Document: Send + Sync + 'static {
    /// Its path, with the prefix of the place.
    fn path(&self) -> &NotebookPath;

    /// The current notebook, including changes by others.
    fn snapshot(&self) -> Future<'_, Notebook>;

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
            Self::SavedBy(application) => write!(f, "made in {application}, which saves it by itself"),
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
                    "cell {id} changed since you read it (revision {revision}); nothing was changed. It is now \
                     (revision {}):\n{}",
                    cell.revision(),
                    cell.source()
                ),
                NextStep::EditRevision { revision: cell.revision().to_owned() },
            )),
            _ if read.as_ref().is_some_and(|it| !cell.has_outputs(&it.outputs(), it.execution_count())) => {
                Err(Error::new(
                    ErrorKind::Conflict,
                    format!("the outputs of cell {id} changed after you read it; nothing was changed."),
                    NextStep::ReadNotebook,
                ))
            }
            _ => Ok(()),
        }
    }
}

/// A kernel, started or not.
pub trait Kernel: Send + Sync + 'static {
    fn id(&self) -> &KernelId;

    /// What is known about it now. Never waits.
    fn description(&self) -> KernelDescription;

    /// Whether it was shut down, or is known not to exist any longer: nothing will run on it again. Never waits.
    fn is_gone(&self) -> bool;

    /// Whether another client uses it now, so that shutting it down would affect somebody else.
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        Box::pin(ready(false))
    }

    /// Whether it keeps running when this program ends, as the kernel of a notebook on a server does. Never waits.
    fn outlives_us(&self) -> bool {
        false
    }

    /// What tells the process that it is now from every other that ran, or will run, under the same id, whoever restarted it: the
    /// same text in every server. `None` while that is not known, or never is. Never waits.
    fn instance(&self) -> Option<String> {
        None
    }

    /// Takes over the runs of earlier servers that are not stored yet. Each is returned once.
    fn take_orphans(&self) -> BoxFuture<'_, Vec<Orphan>> {
        Box::pin(ready(Vec::new()))
    }

    /// What an agent should know about other kernels because this one was started, and about what other servers have run on this
    /// one. Each is returned once.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lets a later server know of a run that waits for its turn, in case this program ends before. Never waits.
    fn announce(&self, _note: &RunDetails) {}

    /// An announced run will not be run. Never waits.
    fn retract(&self, _run: &RunId) {}

    /// Connects; starts the kernel if it is not running, and waits until it is ready.
    fn executor(&self) -> Future<'_, Arc<dyn Executor>>;

    /// Fails if it can never be interrupted from here; the error says who can. Never waits.
    fn check_interruptible(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Fails if it can never be restarted from here; the error says who can. Never waits.
    fn check_restartable(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Interrupts the running code, by message or signal as its kernelspec says.
    fn interrupt(&self) -> Future<'_, ()>;

    /// Restarts it and waits until it is ready.
    fn restart(&self) -> Future<'_, ()>;

    fn shutdown(&self) -> Future<'_, ()>;
}

/// A run of another server.
pub struct FoundRun {
    /// Its kernel, which gives it as an orphan if that server has ended; `None` if it never had one.
    pub kernel: Option<Arc<dyn Kernel>>,
    /// The notebook of that kernel; `None` if that is for code of no notebook.
    pub notebook: Option<NotebookPath>,
    /// What it has printed and returned so far, as plain text.
    pub text: String,
    /// How far it is, as far as its kernel's log tells.
    pub state: RunState,
}

/// A kernel as shown to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelDescription {
    /// The kernelspec's name.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
    pub state: KernelState,
    /// When it was last used.
    pub last_activity: Option<SystemTime>,
    /// The number of connected clients, if known.
    pub connections: Option<u64>,
    /// Who else uses it and since when, if it is a process of its own that outlives this program.
    pub keeping: Option<Keeping>,
    /// Who has started it, if it is another program of this machine, which alone restarts or ends it.
    pub foreign: Option<Foreign>,
}

/// What is known of a kernel that another program of this machine has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    pub started_at: SystemTime,
    /// Who has started it, as far as that can be seen: `started for a.ipynb, as a Jupyter server does`.
    pub origin: String,
}

/// What is known of a kernel that outlives this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    pub started_at: SystemTime,
    /// The notebook for which it was started.
    pub notebook: Option<NotebookPath>,
    /// When a server last sent it something, as far as is known.
    pub last_request: SystemTime,
    /// The processes of the servers that are attached to it.
    pub attached: Vec<u32>,
    /// Whether an earlier server started it.
    pub is_from_earlier: bool,
    /// What its process held in memory when it was asked last, in bytes.
    pub memory: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelState {
    /// The first run starts it.
    NotStarted,
    /// Its process is running but not ready yet.
    Starting,
    Idle,
    Busy,
    /// Its process ended unexpectedly.
    Dead {
        how: String,
    },
}

/// Connects to servers that agents name.
pub trait Connector: Send + Sync + 'static {
    /// The [scheme](Place::scheme) of its servers.
    fn scheme(&self) -> &'static str {
        ""
    }

    /// Connects to a server. Connecting to the same server again returns the same place.
    fn connect(&self, spec: ServerSpec) -> Future<'_, Connected>;
}

/// A place that was connected to.
#[derive(Clone)]
pub struct Connected {
    pub place: Arc<dyn Place>,
    /// How its server was chosen, if no address was given.
    pub discovered: Option<Discovered>,
}

/// A running server that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// The folder that it serves.
    pub root: PathBuf,
    /// How many other servers of this user are running.
    pub others: usize,
}

/// A server to connect to.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// The address, as people paste it; `None` for one that is running on this machine.
    pub url: Option<String>,
    /// `None` if the address contains it, or none is needed.
    pub token: Option<Secret>,
    /// The kind of server; connectors define the names.
    pub provider: Option<String>,
    /// The address and token of another server that runs the kernels.
    pub kernels: Option<(String, Option<Secret>)>,
}
