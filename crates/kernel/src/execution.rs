//! The state machine of executions: requests, messages and the time go in; events and messages to the kernel come out.
//!
//! No I/O. [`executions`] is the whole connection, [`incoming`] handles its messages, [`ending`] ends executions; [`request`] is one of
//! them.

mod checks;
mod colab_request;
mod ending;
mod event;
mod executions;
mod incoming;
mod late_output;
mod loss_check;
mod outcome;
mod outputs;
mod process;
mod published;
mod request;
mod silence_check;
mod stdin;
mod widget_updates;

pub(crate) use checks::Action;
pub use event::{Event, Sink, Status, TimedEvents};
pub(crate) use executions::Executions;
pub use outcome::{Death, LossCause, Outcome, is_interrupt};
pub use outputs::OutputArea;
pub(crate) use process::Process;
pub(crate) use stdin::InputRequests;

#[cfg(test)]
mod tests;
