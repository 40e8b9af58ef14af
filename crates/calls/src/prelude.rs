//! Imports that most tools share.

pub use notebook::one_line;
pub use place::{Error, ErrorKind};

pub use crate::answer::{Answer, Outcome};
pub use crate::arguments::choice::Choice;
pub use crate::arguments::combinations::Combination;
pub use crate::arguments::declare::{Argument, FreeText, NoArguments, Schema, arguments};
pub use crate::arguments::given::{Given, refused};
pub use crate::arguments::parameters::{
    BudgetArguments, CellIndex, NamedCell, NotebookArgument, PreviewArgument, named_cell,
};
pub use crate::context::Context;
pub use crate::permissions::{Group, Permission};
pub use crate::preview::Asked;
pub use crate::replies::cell_text::{
    banner, brief, brief_with_states, cell_states, first_line, index_or_id, label, newly_undefined, ranges,
    shortened, state_line, surroundings, table, undefined_lines, undefined_sentence,
};
pub use crate::replies::whole_lines::whole_lines;
pub use crate::tool::{Discovery, Effect, Shows, Tool, tool};
pub use crate::waiting::{RunArguments, Waiting, WaitingArguments};
