use std::time::SystemTime;

use notebook::{Json, MimeBundle, Output};
use tokio::sync::mpsc;

use crate::{Death, Outcome};

/// Receives the events of one execution, in order. It is called on the connection's thread and must not block: a kernel
/// drops outputs that are not read.
pub type Sink = Box<dyn FnMut(Event) + Send>;

/// The events of an execution that an earlier connection has requested, each with its time.
pub type TimedEvents = mpsc::UnboundedReceiver<(SystemTime, Event)>;

/// What happens to one execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The kernel begins with it: its own time begins. Comes at most once, before [`Event::Started`], and never from a kernel that
    /// does not say what it is busy with.
    Busy,
    /// What runs it is another process than the one that this kernel was before: its variables are gone. Comes before any output.
    Restarted,
    /// The kernel works on it. Comes at most once, before any output.
    Started {
        /// The number in `In[n]`, if the kernel reports it.
        execution_count: Option<u64>,
    },
    /// An output. For streams it is one chunk; [`OutputArea`](crate::OutputArea) joins the chunks.
    Output {
        output: Output,
        /// The id under which the output can be updated.
        display_id: Option<String>,
    },
    /// An execution, this one or another, updated a display of this one.
    UpdateDisplay { display_id: String, bundle: MimeBundle },
    /// The outputs so far must be removed: now, or when the next output arrives.
    ClearOutput { wait: bool },
    /// From here on, outputs go into the `Output` widget of this model, or into the cell again. Front ends that know widgets show
    /// them there.
    Captured(Option<String>),
    /// The code waits for a line of input; see [`Client::answer_input`](crate::Client::answer_input).
    InputWanted {
        prompt: String,
        /// The answer is a secret.
        password: bool,
    },
    /// Another client has sent that line.
    InputAnswered,
    /// What a person sees of a widget that an output shows has changed, to this text.
    Widget { model_id: String, text: String },
    /// The state of the widgets that its outputs show, and of those that they use, as a notebook keeps it: an object with `state`,
    /// by model, which is `null` for a closed one. Comes before the end, and after later changes.
    WidgetState(Json),
    /// The connection has been lost for a while, for this reason; without one, it works again. It may come at any time.
    Disconnected { cause: Option<String> },
    /// The kernel is done with it: its own time ends. Comes at most once, before [`Event::Finished`].
    Idle,
    /// The code has asked for the end of the kernel, with `exit()` or `quit()`. Comes before the end.
    ExitRequested {
        /// The kernel goes on; the code only wants that nothing else runs.
        keeps_kernel: bool,
    },
    /// What it has changed in the kernel's memory, as [`Client::changes`](crate::Client::changes) gives it: the kernel has said so in
    /// its reply. Comes before the end.
    Changed(Json),
    /// It is over. Comes exactly once. Only late outputs and updates of displays and widgets may follow.
    Finished(Outcome),
}

/// What the kernel does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Status {
    Starting,
    #[default]
    Idle,
    /// It runs code, for us or for another client.
    Busy,
    /// Its process ended. Final.
    Dead {
        how: Death,
    },
}
