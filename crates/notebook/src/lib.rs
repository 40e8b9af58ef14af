//! The lossless notebook model: nbformat in and out, cells, references to them, edits.
//!
//! It knows neither files nor tasks. What it does not understand, it keeps as text.
//!
//! From the bottom up: `json` is text that is cut and joined but never re-typed; `text`, `output`, `cell` and `file` are
//! the parts of a notebook; `read` makes a [`Notebook`] of them, `edit` changes it and `write` prints it.

mod assigned_ids;
mod cell;
mod cell_metadata;
mod cell_ref;
mod diff;
mod digest;
mod edit;
mod error;
mod file;
mod hidden;
mod ids;
mod json;
pub mod markup;
mod mime;
mod notebook;
mod outline;
mod output;
mod ranges;
mod read;
mod required;
mod search;
mod text;
mod text_id;
mod truncate;
mod visible;
mod write;

pub use assigned_ids::AssignedIds;
pub use cell::{Cell, CellType};
pub use cell_metadata::{RUN_TIMES, is_defined_metadata};
pub use cell_ref::{CellLabel, CellRef, CellRefError};
pub use diff::{diff, is_closer};
pub use digest::other_members;
pub use edit::{Edit, EditError, NewCell, placed};
pub use error::ParseError;
pub use hidden::HiddenParts;
pub use ids::{CellId, RunId};
pub use json::{Json, unescape, unescape_into};
pub use mime::{IMAGE_TYPES, MimeKind, WIDGET_VIEW};
pub use notebook::{Kernelspec, Notebook};
pub use outline::{Heading, outline};
pub use output::{MimeBundle, Output};
pub use ranges::ranges;
pub use search::{Hit, HitLocation, Query, search};
pub use text::Text;
pub use truncate::truncate;
pub use visible::{is_hidden, one_line, visible};

/// For [`text_id`], in crates that have no dependency on it.
#[doc(hidden)]
pub use serde;
