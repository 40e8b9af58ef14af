//! What to do after a failure.

use std::borrow::Cow;
use std::fmt;

use connection::NextStep as ServerStep;

use crate::{NotebookPath, RunId};

/// The call or action that helps after a failure.
///
/// Tools and options have different names for agents, at the command line and inside Jupyter. Crates below name the
/// step; the crate that shows it words it. `Display` words it without such names, for logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// One or two sentences that name neither tools nor options.
    Say(Cow<'static, str>),
    TryAgain,
    /// The failure is a defect of this program.
    ReportBug,

    /// See which notebooks exist, or create one.
    ListNotebooks,
    /// See which files exist, from the root folder on.
    ListFiles,
    /// The file exists already: say that it may be replaced, or choose another path.
    Overwrite,
    /// The notebook exists already: open it, or choose another path.
    OpenExisting,
    /// Say which notebook is meant, one of these open ones or another.
    NameNotebook {
        open: Vec<String>,
    },
    CloseNotebook,
    /// Say which place is meant: these are the paths in each.
    NamePlace {
        paths: Vec<String>,
    },
    /// Open a notebook again that a person has closed.
    Reopen {
        path: NotebookPath,
    },

    /// See the cells as they are now, then try again.
    ReadNotebook,
    /// Name the cell by its id.
    NameCell,
    /// Decide on the new source, then edit the cell at this revision.
    EditRevision {
        revision: String,
    },

    /// See which kernels exist.
    ListKernels,
    /// Choose one of these kernelspecs, or install the one that was asked for.
    ChooseKernelspec {
        available: Vec<String>,
    },
    /// The kernel was shut down: start a new one.
    StartKernel,
    /// The kernel does not react: restart or replace it.
    RestartKernel,

    /// Run the code again, or for the first time.
    Run,
    /// Look at a run, one of these latest ones.
    GetRun {
        latest: Vec<RunId>,
    },
    /// Wait until a run ends, or interrupt it.
    WaitForRun,

    /// See which machines run, and which could be started.
    ListMachines,
    /// Start a machine first.
    StartMachine,
    /// The person signs in to the account of the machines, or again.
    SignIn,

    /// What helps to reach a server.
    Server(ServerStep),
}

impl From<ServerStep> for NextStep {
    fn from(step: ServerStep) -> Self {
        Self::Server(step)
    }
}

impl From<&'static str> for NextStep {
    fn from(sentence: &'static str) -> Self {
        Self::Say(sentence.into())
    }
}

impl From<String> for NextStep {
    fn from(sentence: String) -> Self {
        Self::Say(sentence.into())
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Say(sentence) => sentence,
            Self::TryAgain => "Try again.",
            Self::ReportBug => "This is a defect of this program; please report it.",
            Self::ListNotebooks => "List the notebooks that exist, or create a new one.",
            Self::ListFiles => "Give a path from the root folder; list the files to see what exists.",
            Self::Overwrite => "Choose another path, or allow replacing the file.",
            Self::OpenExisting => "Open the existing notebook, or choose another path.",
            Self::NameNotebook { open } if open.is_empty() => "Open the notebook first, or give its path.",
            Self::NameNotebook { open } => {
                return write!(f, "Name one of the open notebooks ({}), or give a path.", open.join(", "));
            }
            Self::CloseNotebook => "Close a notebook first.",
            Self::NamePlace { paths } => return write!(f, "Pass one of these: {}.", paths.join(", ")),
            Self::Reopen { path } => return write!(f, "Open {path} again."),
            Self::ReadNotebook => "Read the notebook to see the cells as they are now, then try again.",
            Self::NameCell => "Name the cell by its id; read the notebook to see all cells.",
            Self::EditRevision { revision } => {
                return write!(f, "Decide on the new source, then edit revision {revision:?}.");
            }
            Self::ListKernels => "List the kernels that exist, or start a new one.",
            Self::ChooseKernelspec { available } if available.is_empty() => "Install a kernel first.",
            Self::ChooseKernelspec { available } => {
                return write!(f, "Install that kernel, or choose one of these: {}.", available.join(", "));
            }
            Self::StartKernel => "Start a new kernel.",
            Self::RestartKernel => "Try again; if that does not help, restart the kernel or start a new one.",
            Self::Run => "Run the cell.",
            Self::GetRun { latest } if latest.is_empty() => "Nothing has run yet.",
            Self::GetRun { latest } => return write!(f, "Latest runs: {}.", join(latest)),
            Self::WaitForRun => "Wait until a run ends, or interrupt one.",
            Self::ListMachines => "List the machines.",
            Self::StartMachine => "Start a machine first.",
            Self::SignIn => "The person has to sign in.",
            Self::Server(step) => return step.fmt(f),
        };
        f.write_str(words)
    }
}

fn join(ids: &[RunId]) -> String {
    ids.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}
