//! The names that a cell of Python defines, uses and changes, read from its source alone.
//!
//! Nothing is executed, and no input makes it panic, hang or exhaust the stack: what cannot be read is [`Unknown`]. No syntax tree leaves
//! this crate.
//!
//! The decisions of this crate:
//! - A name counts as used if the cell reads it before it binds it, in the order of the source. What a branch binds that may not
//!   be taken may be bound, and the name is still used; a loop counts as taken.
//! - The body of a function is not run by defining it. Its [`Effects`] are kept under the function's name, and those of
//!   methods under the name of their class, for the cells that read that name: to read a function is to call it, or to
//!   hand it to something that may. A lambda counts as called where it stands, unless a name is assigned to it.
//! - Of two names for the same object only `a = b` is followed, within a cell or a function; [`Names::aliases`] has what is left of it for
//!   other cells. What a function does to its parameters is kept beside its effects. Of a class, it
//!   is kept which methods change their object.
//! - To use an object that gives each item once, such as an open file or a generator, changes it; [`Names::streams`] has those that a
//!   cell makes.
//! - What cells share without a name, such as the configuration of matplotlib, counts as an object with a name of its own; see
//!   [`is_shared`].
//! - An assignment to an attribute or an item, and an augmented assignment, changes the object; a call of a method may
//!   have changed it, unless methods of that name only read in the libraries that people use most.

mod cell;
mod makers;
mod methods;
mod names;
mod shared;
mod undefined;
mod walker;

pub use syntax::{Name, NameSet, SmallSet, Unknown, is_history};

pub use makers::{FIGURE, PATTERN, STREAM, is_counting, is_handle};
pub use names::{Argument, Change, Effects, Names, ObjectUse, Passed, Repeat, Step};
pub use shared::{
    ARRAYS, CONFIGURATION, FLOATS, FRAMES, INTERACTIVITY, attribute, is_configuration, is_display, is_file,
    is_predefined, is_shared, patched,
};
pub use undefined::{Needs, Undefined, definers, undefined};
