//! The next step after a failure.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

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
        path: String,
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
        latest: Vec<String>,
    },
    /// Wait until a run ends, or interrupt it.
    WaitForRun,

    /// See which machines run, and which could be started.
    ListMachines,
    /// Start a machine first.
    StartMachine,
    /// The person signs in to the account of the machines, or again.
    SignIn,
    /// The person signs in again, and allows everything that is listed.
    GrantAccess,
    /// The person creates an OAuth client for a desktop app, and signs in with its file.
    CreateClient,
    /// The person checks the OAuth client, its project and the test users, and signs in again.
    CheckClient,
    /// The person enables the API in the project of the OAuth client, or has it opened.
    EnableApi,
    /// The person makes the file readable by its owner only.
    ClosePermissions,

    /// Start a server, or give the address of a running one.
    GiveAddress,
    /// Give the server's token. The sentence says where to get it.
    GiveToken {
        obtain: Cow<'static, str>,
    },
    /// Give the server's address together with its password.
    GivePassword,
    /// Give the certificate of the authority that signed the server's. A file that was given already does not help.
    GiveCertificate {
        given: Option<PathBuf>,
    },
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

const CERTIFICATE: &str = "Give the server's certificate (PEM), or that of the authority that signed it.";

/// A failure in one line: the cause, with one stop, and the next step. What others say can be empty, or end with a stop of its own.
pub fn joined(cause: &str, next: &str) -> String {
    let cause = cause.trim_end();
    let bare = cause.trim_end_matches(['.', ' ']);
    // `…: .` has lost its end; `colab:.` has not.
    let bare = if cause[bare.len()..].starts_with(' ') { bare.trim_end_matches(':') } else { bare };
    let stop = if cause.ends_with('.') { "." } else { "" };
    format!("{bare}{stop} {next}").trim().to_owned()
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
            Self::GetRun { latest } => return write!(f, "Latest runs: {}.", latest.join(", ")),
            Self::WaitForRun => "Wait until a run ends, or interrupt one.",
            Self::ListMachines => "List the machines.",
            Self::StartMachine => "Start a machine first.",
            Self::SignIn => "The person has to sign in.",
            Self::GrantAccess => "The person has to sign in again, and select everything that is listed.",
            Self::CreateClient => {
                "The person has to create an OAuth client for a desktop app, and sign in with its file."
            }
            Self::CheckClient => {
                "The person has to check the OAuth client, its project and the test users, and sign in again."
            }
            Self::EnableApi => "The person has to enable the API in the project of the OAuth client.",
            Self::ClosePermissions => "The person has to make the file readable by its owner only.",
            Self::GiveAddress => "Start a server, or give the address of a running one.",
            Self::GiveToken { obtain } => return write!(f, "{obtain} Then give it as this server's token."),
            Self::GivePassword => "Give the server's address and password.",
            Self::GiveCertificate { given: Some(file) } => {
                let file = file.display();
                return write!(f, "The certificates in {file} do not help. {CERTIFICATE}");
            }
            Self::GiveCertificate { given: None } => CERTIFICATE,
        };
        f.write_str(words)
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn a_cause_has_one_stop() {
        for cause in
            ["Refused: no token.", "Refused: no token..", "Refused: no token. .", "Refused: no token: ."]
        {
            assert_eq!(joined(cause, "Try again."), "Refused: no token. Try again.");
        }
        for cause in ["Why?", "Open tabs: colab:."] {
            assert_eq!(joined(cause, "Try again."), format!("{cause} Try again."));
        }
        assert_eq!(joined("It failed.", ""), "It failed.");
    }
}
