//! What the notebook tools have in common: how a call's arguments are declared and read, what it may do, how the person is asked,
//! in which order calls run, and how replies show cells and runs. Nothing of the protocol that carries the calls.

pub mod answer;
pub mod arguments;
pub mod call_order;
pub mod consent;
pub mod context;
pub mod next_step;
pub mod permissions;
pub mod places;
pub mod prelude;
pub mod preview;
pub mod question;
pub mod replies;
pub mod tool;
pub mod waiting;
