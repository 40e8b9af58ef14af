//! Notebooks as HTML that is safe to open, for people.
//!
//! Everything here is pure: a notebook in, HTML out. [`output`] and [`cell`] write parts for a page that shows a notebook while it
//! changes, [`page`] a whole one that works without a network.
//!
//! What keeps a page safe:
//! - A [`Fragment`] grows by literals of this crate and by escaped text. Only `sanitize` makes markup of a notebook's HTML: by an
//!   allow-list, and so that a browser makes the same tree of it. Classes of a notebook are dropped, its ids get a prefix.
//! - Scripts of outputs run in frames only, if [`Context::libraries`] asks for them: without our origin, and without a network.
//! - The page's policy allows no request, and no script but those of the frames, each by its hash. A frame inherits the policy.

mod cell;
mod context;
mod contrast;
mod difference;
mod fragment;
mod frame;
mod highlight;
mod markdown;
mod maths;
mod output;
mod page;
mod picture;
mod sanitize;
mod terminal;
#[cfg(test)]
mod testing;
mod traceback;
mod url;

pub use cell::{cell, find};
pub use context::{Context, Libraries, Library};
pub use difference::difference;
pub use fragment::Fragment;
pub use output::output;
pub use page::{About, Page, STYLE, document, page};

pub(crate) use context::Ids;
