//! Which cells of a notebook have outputs that can no longer be believed, and why. Nothing is executed.
//!
//! The measure is a run of the whole notebook from top to bottom in a fresh kernel, as far as names tell. Where it would
//! give a cell another input than its last run had, the cell is stale.
//!
//! What a cell reads there comes from the nearest cell above it that defines the name, and from the cells in between that
//! change its object. These are its *writers*. The first of these rules that holds decides about a cell:
//!
//! | state | what is known |
//! |---|---|
//! | up to date | the cell has no code |
//! | outputs from elsewhere | it has outputs or a count, and they are not those of the last run here |
//! | never run | no run of it is known |
//! | edited | its source is not what ran |
//! | other kernel | it ran in a kernel that was restarted since, or is gone |
//! | undefined name | it uses a name that no other cell defines, and a cell that ran did |
//! | out of order | a writer has not run before it, or something else wrote the name after the writers had run |
//! | input changed | a writer was rerun or edited after it, is stale itself, or failed |
//! | may have changed | the same, but the writer only calls a method, or passes it to a function that changes it |
//! | nothing known | its names cannot be known, or it is not Python |
//! | up to date | else |
//!
//! A writer that gives the same value each time, as an import does, matters only if it has not run before the cell.
//!
//! The state of a name is not that of its cell: it follows what the name's own right-hand side is made of. A cell that may define a
//! name, in a branch or because it failed, is a writer that does not hide those above; where the memory of the kernel shows what its run
//! assigned, that decides. A writer that only calls a method counts fully if its input has changed. What was changed more often than in
//! a run of the whole notebook, as by `x += 1` that ran twice, is out of order.

mod carried;
mod cell_names;
mod definers;
mod effective;
mod facts;
mod history;
mod identity;
mod judge;
mod modules;
mod plan;
mod random;
mod reasons;
mod replay;
mod rules;
mod shown;
mod value;

pub use carried::{Codes, remember};
pub use facts::{Cell, CellState, Clock, Facts, Module, Obstacle, Run, StaleState};
pub use history::{Ended, History};
pub use judge::{Basis, Judge, Judged, NotebookFacts};
pub use plan::{Plan, plan};
pub use random::{RandomUses, add_random};
pub use rules::states;
pub use syntax::hash;
