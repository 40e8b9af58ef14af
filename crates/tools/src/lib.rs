//! The notebook tools: what a model reads about each, who may call it, and what it does. They know nothing of the protocol that
//! carries the calls.
//!
//! A new tool is one file in `tools`.

mod answer;
mod arguments;
mod call_order;
mod consent;
mod context;
mod list;
mod next_step;
mod permissions;
mod places;
mod preview;
mod question;
mod replies;
mod tool;
mod tools;
mod waiting;

pub use answer::{Answer, Outcome};
pub use arguments::kernel_selector::kernel_selector;
pub use call_order::{CallOrder, Ordering, Turn};
pub use consent::{Consent, cannot_ask};
pub use context::{Called, Context};
pub use list::{UnknownOffer, find, list};
pub use next_step::message;
pub use permissions::{Access, Group, Offer, Permission, Permissions, Policy};
pub use places::described as described_places;
pub use preview::preview_of_relayed;
pub use question::{Person, PersonReply, Question, QuestionText};
pub use replies::cell_text::{banner, index_or_id};
pub use tool::{Capabilities, Tool};
pub use tools::connect_to_jupyter::is_named_by_operator;

#[cfg(test)]
mod tests;
