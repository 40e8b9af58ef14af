//! The live page for the person: what agents do now, a notebook as it changes, its history, and the way back.
//!
//! The server drives it. A browser opens a stream and tells which parts it has; `parts` finds what it lacks, and only that is rendered
//! and sent. `now`, `cells` and `timeline` make HTML of plain data, with the builder of the crate `html`: no text becomes markup.
//! `hub` looks at the place and its `kernels` while a page is open, `stream` is one page, `actions` is what a person does there, and
//! `routes` puts it behind a listener, which checks Host, Origin and token. `app` shows one call in a host of MCP Apps, with the parts of
//! the page.
//!
//! Processes of one person reach each other by `private_socket`: the page's takes the `questions` of servers, and those with Colab
//! `tabs`, which only they reach, have a page for these that it passes on.

mod actions;
mod app;
mod cells;
mod charts;
mod hub;
mod kernels;
mod libraries;
mod notices;
mod now;
mod pages;
mod parts;
#[cfg(unix)]
pub mod private_socket;
mod questions;
mod routes;
mod stream;
mod tabs;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

pub use app::{View, document};
pub use charts::Charts;
pub use hub::{Hub, Rights};
#[cfg(unix)]
pub use kernels::keeper_state;
pub use kernels::{Machine, Runs, SeenKernel, SeenRun, SeenSource, ServerKernels, of_folder, of_server};
pub use libraries::libraries;
pub use pages::{OpenPage, Pages};
#[cfg(unix)]
pub use questions::socket::routes as question_routes;
pub use questions::{
    Answer, OpenQuestion, OpenQuestions, Question, WantedInput, ask_on_pages, folder_of_pages, has_pages,
};
pub use routes::{Hubs, Login, PATH, data, files, is_open, only, routes};
pub use tabs::OpenTab;
#[cfg(unix)]
pub use tabs::{TabServer, folder_of_tabs, serve as serve_tabs};
