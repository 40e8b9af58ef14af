//! A notebook as the Y document that several people edit at the same time, and the protocol of its room.
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
mod live;
mod outputs;
mod position;
mod presence;
mod read;
mod read_cell;
mod repair;
mod room;
mod shape;
mod snapshot;
mod state;
mod validate;

pub use error::{ApplyError, YError};
pub use live::LiveNotebook;
pub use presence::Presence;
pub use room::{Dialect, Room, RoomEvent, SaveOutcome, SaveRequest};
