//! A notebook as the Y document that people edit together, and the protocol of its room.
//!
//! No I/O and no clock: bytes come in, bytes and happenings go out, and time is passed in.
//!
//! The document has the shape that `jupyter_ydoc` and `@jupyter/ydoc` give it
//! (<https://jupyter-ydoc.readthedocs.io/en/latest/schema.html>).

mod apply;
mod change;
mod copy;
mod elements;
mod error;
mod frame;
mod guard;
mod live;
mod mend;
mod outputs;
mod position;
mod presence;
mod read;
mod read_cell;
mod room;
mod shape;
mod snapshot;
mod state;

pub use error::{ApplyError, YError};
pub use live::LiveNotebook;
pub use presence::{Presence, RENEWAL};
pub use room::{Dialect, Happening, Room, Save, SaveOutcome};
