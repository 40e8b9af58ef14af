use std::{fmt, io};

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The code ran to its end.
    Done {
        /// The number in `In[n]`.
        execution_count: Option<u64>,
        /// The source that the kernel proposes for the next cell (`%load`, `%recall`).
        next_input: Option<String>,
    },
    /// The code raised an error, which is among the outputs.
    Error {
        /// The number in `In[n]`.
        execution_count: Option<u64>,
        /// The exception's name; `KeyboardInterrupt` in Python after an interrupt.
        name: String,
        value: String,
    },
    /// It never ran because an earlier one failed.
    Aborted,
    /// An interrupt ended it, and the kernel reports no error: it went idle without a reply, or replied that it aborted.
    Interrupted {
        /// The kernel had reported that it runs this.
        is_started: bool,
    },
    /// It is over, and how it ended cannot be known.
    Lost {
        /// The kernel had reported that it runs this.
        is_started: bool,
        cause: LossCause,
    },
    /// It was not accepted, and did not run.
    Refused { cause: String },
    /// The kernel's process ended before the execution did.
    KernelDied { how: Death },
}

/// The end of a kernel's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// Somebody restarted the kernel.
    Restarted,
    /// Another process has taken its place, and it is not known why.
    Replaced,
    /// In words: `killed by signal 9`.
    Other(String),
}

impl<T: Into<String>> From<T> for Death {
    fn from(how: T) -> Self {
        Self::Other(how.into())
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restarted => "it was restarted",
            Self::Replaced => "it ended or was restarted, and a new process has taken its place",
            Self::Other(how) => how,
        })
    }
}

/// Whether kernels name an error so if an interrupt stopped the code: `ipykernel` and those built on it, `IJulia`, kernels on the
/// JVM, `IRuby` and ark do. Python's `InterruptedError` is an error of a system call.
pub fn is_interrupt(error: &str) -> bool {
    let names = ["KeyboardInterrupt", "InterruptException", "InterruptedException", "Interrupt", "interrupt"];
    names.contains(&error)
}

/// Why the end of an execution cannot be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossCause {
    /// The connection was cut for this reason, and the reply did not come over the next one.
    #[error("the connection to the kernel was cut ({cause}), and no reply came after it was restored")]
    Disconnected { cause: String },
    /// The connection was cut, and the server refused another one, or was not reached for too long.
    #[error("the connection to the kernel was cut and not restored: {cause}; the kernel may still run")]
    NotRestored { cause: String },
    /// Another process took the kernel's place before the old one had reported that it runs this.
    #[error("a new process replaced the kernel before it reported that this started")]
    KernelReplaced,
    /// Another client's connection to the kernel took over ours, so that requests and replies went astray.
    #[error("another client connected to the kernel, and the server sent the reply there")]
    Superseded,
    /// The application that ran it disconnected before it reported the end.
    #[error("the application that ran it disconnected before it reported the end")]
    ApplicationLeft,
    /// The kernel's keeper, this process, no longer answers.
    #[error(
        "the keeper of the kernel (process {process}) does not answer; continue that process if it was stopped, or end it"
    )]
    KeeperSilent { process: u32 },
    /// The kernel's keeper could not write to its log, which is where the end would be.
    #[error("the keeper of the kernel cannot write its log, which is in the state folder: {}", io::Error::from_raw_os_error(*os_error))]
    LogFailed { os_error: i32 },
}
