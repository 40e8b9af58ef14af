//! What the declaration of every tool names.

pub use crate::answer::{Answer, Outcome};
pub use crate::arguments::combinations::Combination;
pub use crate::arguments::declare::arguments;
pub use crate::context::Context;
pub use crate::permissions::{Group, Permission};
pub use crate::tool::{Discovery, Effect, Shows, Tool, tool};
