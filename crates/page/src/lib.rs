//! The live page for the person: what agents do now, a notebook as it changes, its history, and the way back.
//!
//! The server drives it. A browser opens a stream and tells which parts it has; `parts` finds what it lacks, and only that is rendered
//! and sent. `now`, `cells` and `timeline` make HTML of plain data, with the builder of the crate `html`: no text becomes markup.
//! `hub` looks at the place while a page is open, `stream` is one page, `actions` is what a person does there, and `routes` puts it
//! behind a listener, which checks Host, Origin and token. `tabs` shows Colab tabs, which only the servers they are connected to reach.
//! `app` shows one call in a host of MCP Apps, with the parts of the page.

mod actions;
mod app;
mod cells;
mod charts;
mod hub;
mod machine;
mod notices;
mod now;
mod observed;
mod own_runs;
mod pages;
mod parts;
mod routes;
mod server_kernels;
mod stream;
mod tabs;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

pub use app::{View, document};
pub use charts::Charts;
pub use hub::{Hub, Rights};
pub use machine::{Machine, SeenKernel, SeenRun, SeenSource, already_ended};
pub use own_runs::{OwnRuns, Runs};
pub use pages::{OpenPage, Pages};
pub use routes::{Hubs, Login, PATH, data, files, is_open, only, routes};
pub use server_kernels::{ServerKernels, answered_elsewhere};
pub use tabs::OpenTab;
#[cfg(unix)]
pub use tabs::{TabHost, TabServer, folder_of_tabs, serve as serve_tabs};
