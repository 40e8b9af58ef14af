//! Records what agents change, so that it can be undone: the operations of notebooks, and the runs of kernels.

pub mod actor;
mod recorder;

pub use actor::Actor;
pub use recorder::{RecordedEdit, Recorder};
