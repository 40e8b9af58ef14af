//! Cells of a notebook whose outputs can no longer be believed, with the reasons. Nothing is executed.
//!
//! Each value of a name has a *version* ([`value`]): a hash of the code that made it, of the versions that this code got, and of the run
//! if the code varies. [`replay`] follows the runs of the kernel in order, and a run of the whole notebook from top to bottom in a
//! fresh kernel. A cell whose last run got other versions than it would get there is stale; [`rules`] decides the state, and
//! [`reasons`] words why. [`plan`] replays planned runs on the values of the kernel to find what else has to run.
//!
//! The effects of a run come from the kernel where it could tell ([`facts::Run`]), and else from the names of its source: [`effective`]
//! joins a cell with the functions that it calls, as [`definers`] sees them.
//!
//! | state | what is known |
//! |---|---|
//! | outputs from elsewhere | it has outputs or a count, and they are not those of the last run here |
//! | never run | no run of it is known |
//! | edited | its source is not what ran |
//! | interrupted | its last run was stopped before its end |
//! | other kernel | it ran in a kernel that was restarted since, or is gone |
//! | undefined name | it uses a name that no other cell defines, and a cell that ran did |
//! | out of order | a name had another version, because a cell had not run, or another one or twice |
//! | input changed | a cell that writes the name was rerun or edited after it, is stale itself, or failed |
//! | may have changed | only a call that may have changed the object differs |
//! | nothing known | its names cannot be known, or it is not Python |
//! | up to date | else |

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
pub use history::History;
pub use judge::{Basis, Judge, Judged, NotebookFacts};
pub use plan::{Plan, plan};
pub use random::{RandomUses, add_random};
pub use rules::states;
pub use syntax::hash;
