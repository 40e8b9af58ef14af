//! Talks to Jupyter kernels: one state machine for executions, over any transport.
//!
//! A transport implements [`Transport`], and [`drive`] makes a [`Client`] of it. Those of kernels are in the crate `transports`.
//!
//! The protocol is <https://jupyter-client.readthedocs.io/en/stable/messaging.html>. Outputs are never parsed and printed
//! again: they are slices of the message as it came.

mod client;
mod command;
mod driver;
mod error;
mod execution;
mod handler_state;
pub mod log;
mod memory;
pub mod messages;
mod transport;
mod widgets;

pub use client::{Client, input_reply};
pub use driver::{Driver, Ready, drive};
pub use error::KernelError;
pub use execution::{Death, Event, LossCause, Outcome, OutputArea, Sink, Status, TimedEvents, is_interrupt};
pub use jupyter_protocol::ConnectionInfo;
pub use memory::{MemoryError, WITHOUT_KERNEL, answer_without_kernel, question_without_kernel};
pub use messages::{Message, MessageId, Outgoing, write_parts};
pub use transport::{GapCause, Observation, Received, Sequence, Transport};
pub use widgets::{
    earlier_widgets, has_models, restored_widgets, saved_widgets, shown_widgets, uses_model, widget_text,
};
