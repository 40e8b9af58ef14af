//! What every place where notebooks live can do, and what all of them share.
//!
//! A place (a Colab tab, a Jupyter server, a folder) implements the traits of this crate; the face towards
//! agents knows only the traits. Neither names the other, so a place can be added without touching the face.

mod error;
mod relay;
mod token;

pub use error::{Error, Side};
pub use relay::{Answer, Call, Progress, Relay, Report, Tool};
pub use token::{NoRandomness, Token};
