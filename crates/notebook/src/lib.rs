//! The lossless notebook model: nbformat in and out, cells, references to them, edits.
//!
//! It knows neither files nor tasks. Whatever it does not understand it keeps as text.

mod build;
mod carry;
mod cell;
mod cell_ref;
mod diff;
mod edit;
mod error;
mod file;
mod holds;
mod ids;
mod json;
mod lines;
mod members;
mod notebook;
mod outline;
mod output;
mod print;
mod print_cell;
mod print_output;
mod read_cell;
mod read_output;
mod repair;
mod same;
mod scan;
mod search;
mod string;
mod text;
mod upgrade;
mod upgrade_output;
mod write;

pub use cell::{Cell, CellType};
pub use cell_ref::{CellLabel, CellRef, CellRefError};
pub use diff::{diff, is_closer};
pub use edit::{Edit, EditError, NewCell};
pub use error::ParseError;
pub use json::Json;
pub use notebook::{Kernelspec, Notebook};
pub use outline::{Heading, outline};
pub use output::{MimeBundle, Output};
pub use search::{Hit, HitLocation, Query, search};
pub use string::{unescape, unescape_into};
pub use text::Text;
