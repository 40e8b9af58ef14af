//! A place: where notebooks and kernels live.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::document::Document;
use crate::earlier_runs::EarlierRuns;
use crate::file::Files;
use crate::folder_copy::FolderCopy;
use crate::kernel::{Kernel, KernelChoice, KernelspecInfo};
use crate::kernel_request::KernelRequest;
use crate::{Error, ErrorKind, Future, NotebookPath};

/// Where notebooks and kernels live: a folder or a server.
pub trait Place: Send + Sync + 'static {
    /// The place as part of a sentence, for example `the folder /home/ada/work`.
    fn description(&self) -> String;

    /// Whether it can be reached now, without the person.
    fn is_present(&self) -> bool {
        true
    }

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

    /// The kernel that a run would start, for a person; nothing is started or made to find out. `None` if only the run shows which.
    fn first_kernel(&self, _: KernelRequest) -> Future<'_, Option<String>> {
        Box::pin(ready(Ok(None)))
    }

    /// The folder of this machine that it serves. What lies there is started only for a run.
    fn folder(&self) -> Option<PathBuf> {
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

    /// Its files; `None` if only its notebooks can be reached.
    fn files(&self) -> Option<&dyn Files> {
        None
    }

    /// The same, or the refusal of a place whose files cannot be reached.
    fn reach_files(&self) -> Result<&dyn Files, Error> {
        self.files().ok_or_else(|| self.no_files())
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

    /// The runs of other servers; `None` if runs end with this program.
    fn earlier_runs(&self) -> Option<&dyn EarlierRuns> {
        None
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
    fn open(&self, path: &NotebookPath) -> Future<'_, Showing>;
}

/// Result of showing a notebook to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Showing {
    /// The frontend has confirmed it.
    Seen,
    /// A browser was started with this address, which is given without its secrets.
    Started(String),
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
    /// No file: the folder has more entries than this number, which are listed.
    Truncated(usize),
}
