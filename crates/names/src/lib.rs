//! What a cell of Python defines, uses and changes, read from its source alone.
//!
//! Nothing is executed, and no input makes it panic, hang or exhaust the stack: what cannot be read is
//! [`Unknown`]. The parser is Ruff's, whose interface changes with every version; nothing of it leaves this crate.
//!
//! What is decided here:
//! - A name counts as used if the cell reads it before it binds it, in the order of the source. What a branch binds that may not
//!   be taken may be bound, and the name is still used; a loop counts as taken.
//! - The body of a function is not run by defining it. Its [`Effects`] are kept under the function's name, and those of
//!   methods under the name of their class, for the cells that read that name: to read a function is to call it, or to
//!   hand it to something that may. A lambda counts as called where it stands, unless a name is assigned to it.
//! - Of two names for the same object only `a = b` is followed, within a cell or a function; [`Names::aliases`] has what is left of it for
//!   other cells. What a function does to its parameters is kept beside its effects. The methods of an instance are not followed.
//! - A rename changes the name that cells share, where it is a name; see [`rename`].
//! - To use an object that gives each item once, such as an open file or a generator, changes it; [`Names::streams`] has those that a
//!   cell makes.
//! - What cells share without a name, such as the configuration of matplotlib, counts as an object with a name of its own; see
//!   [`is_shared`].
//! - An assignment to an attribute or an item, and an augmented assignment, changes the object; a call of a method may
//!   have changed it, unless methods of that name only read in the libraries that people use most.

mod builtins;
mod cell;
mod imports;
mod locals;
mod magics;
mod methods;
mod names;
mod nondeterminism;
mod parse;
mod rename;
mod scope;
mod small_set;
mod undefined;
mod walker;

pub use builtins::{is_builtin, is_history};
pub use imports::imported_modules;
pub use magics::is_blank;
pub use names::{
    Added, Argument, Effects, Given, Name, NameSet, Names, ObjectUse, Passed, Repeat, Step, Unknown,
};
pub use nondeterminism::{Cause, Nondeterminism, RandomUse, nondeterminism, random_state, random_use};
pub use parse::with_stack;
pub use rename::{CannotRename, Renamed, RenamedCell, rename};
pub use small_set::SmallSet;
pub use undefined::{Undefined, definers, undefined};
pub use walker::figures::FIGURE;
pub use walker::options::{ARRAYS, FLOATS, FRAMES, INTERACTIVITY};
pub use walker::patches::{attribute, patched};
pub use walker::shared::{CONFIGURATION, is_configuration, is_shared};
pub use walker::streams::{is_counting, is_pattern_maker};
