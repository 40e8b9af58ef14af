//! Cells of Python as text and as a syntax tree, with the magics of `IPython`, and what these say without the rest of the notebook's state.
//!
//! Nothing is executed, and no input makes it panic, hang or exhaust the stack: what cannot be read is [`Unknown`]. The parser is Ruff's;
//! only this crate calls it. The crate `names` walks through its trees; no other one sees them.
//!
//! A rename changes the name that cells share, where it is a name; see [`rename`].

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

mod builtins;
mod imports;
mod locals;
pub mod magics;
mod nondeterminism;
mod parse;
mod rename;
mod scope;
mod tokens;
pub mod tree;
mod unknown;

pub use builtins::{VARIABLES, is_builtin, is_history};
pub use imports::imported_modules;
pub use locals::Locals;
pub use magics::is_blank;
pub use nondeterminism::{Cause, RandomUse, may_vary, nondeterminism, random_state, random_use};
pub use parse::{MAX_NESTED, PlainCell, SyntaxError, bounded, plain_cell, with_stack, with_statements};
pub use rename::{CannotRename, RenamedCell, rename};
pub use scope::{Resolved, Scope, ScopeKind, Scopes};
pub use tokens::{Token, tokens};
pub use unknown::Unknown;

pub type Name = String;
pub type NameSet = BTreeSet<Name>;
pub type SmallSet<T> = BTreeSet<T>;

/// Equal for equal texts, within one process.
pub fn hash(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    hash.finish()
}
