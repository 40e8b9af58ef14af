//! A notebook as the Y document that several people edit at the same time, the protocol of its room, and the edits
//! that a lost connection may lose.
//!
//! No I/O and no clock: bytes come in, bytes and events go out, and time is passed in as an argument.
//!
//! The document has the shape that `jupyter_ydoc` and `@jupyter/ydoc` give it
//! (<https://jupyter-ydoc.readthedocs.io/en/latest/schema.html>).

mod apply;
mod change;
mod copy;
mod elements;
mod error;
mod frame;
mod intent;
mod live;
mod outputs;
mod pending_edits;
mod position;
mod presence;
mod read;
mod read_cell;
mod repair;
mod room;
mod shape;
mod snapshot;
mod state;
#[cfg(test)]
mod testing;
mod validate;

pub use error::{ApplyError, YError};
pub use intent::{Intent, are_outputs};
pub use live::LiveNotebook;
pub use pending_edits::PendingEdits;
pub use presence::Presence;
pub use room::{Dialect, Room, RoomEvent, SaveOutcome, SaveRequest};
