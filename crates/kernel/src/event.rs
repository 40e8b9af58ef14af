//! What an execution is asked for, and what it tells.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use notebook::{MimeBundle, Output};

/// A request to execute code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are those of the protocol")]
pub struct Execute {
    /// The source, in the kernel's language.
    pub code: String,
    /// Whether the kernel publishes neither the input nor the result, and does not count it.
    pub silent: bool,
    /// Whether it enters the kernel's history and gets a number.
    pub store_history: bool,
    /// Whether the code may ask for a line of input; see [`Event::InputWanted`].
    pub allow_stdin: bool,
    /// Whether an error aborts the executions queued behind this one.
    pub stop_on_error: bool,
}

impl Execute {
    /// A request as a notebook makes it for a cell: counted, input allowed, an error stops what is queued.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), silent: false, store_history: true, allow_stdin: true, stop_on_error: true }
    }
}

/// Names one execution: the id of its request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExecutionId(Arc<str>);

impl ExecutionId {
    pub(crate) fn new(request: &str) -> Self {
        Self(Arc::from(request))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ExecutionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes the events of one execution, in order. It is called on the thread of the connection and must not block it:
/// a kernel drops outputs when they are not read.
pub type Sink = Box<dyn FnMut(Event) + Send>;

/// What one execution tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The kernel works on it. Comes at most once, before any output.
    Started {
        /// The number in `In[n]`, where the kernel tells it.
        execution_count: Option<u64>,
    },
    /// An output. A stream is a piece of one; [`OutputArea`](crate::OutputArea) puts them together.
    Output {
        /// The output.
        output: Output,
        /// The name under which it can be updated.
        display_id: Option<String>,
    },
    /// What this execution displayed under `display_id` has new content, by whatever execution.
    UpdateDisplay {
        /// The name of the display.
        display_id: String,
        /// The new content.
        bundle: MimeBundle,
    },
    /// The outputs so far are to go: now, or when the next output comes.
    ClearOutput {
        /// Whether to wait for the next output.
        wait: bool,
    },
    /// The code waits for a line of input; see [`Client::answer_input`](crate::Client::answer_input).
    InputWanted {
        /// What the code asks.
        prompt: String,
        /// Whether the answer is secret.
        password: bool,
    },
    /// It is over. Comes exactly once; only outputs of threads and updates of displays may follow.
    Finished(Outcome),
}

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
        /// What it says.
        value: String,
    },
    /// It never ran because an earlier one failed.
    Aborted,
    /// The kernel ended before it did; how.
    KernelDied(String),
    /// The kernel was started anew before it ended.
    Restarted,
}

/// What the kernel does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It is about to be ready.
    Starting,
    /// It waits for work.
    Idle,
    /// It works, for us or for somebody else.
    Busy,
    /// It is gone; how. Nothing follows.
    Dead(String),
}
