//! The command line of `cellbridge view`.

use std::path::PathBuf;

use clap::Args;

use super::{GoogleAt, Places};

#[derive(Debug, Args)]
pub(crate) struct View {
    /// A folder, a Jupyter server, or the notebook to show first [default: the current folder]
    ///
    /// `jupyter:` is the server that is running on this machine, or the one of --jupyter-url.
    #[arg(value_name = "PATH|URL")]
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) places: Places,

    /// Print the address of the page, and open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Serve the page in this process, until Ctrl-C
    #[arg(long)]
    pub(crate) foreground: bool,

    /// Serve the page for `cellbridge view`, until all pages have been closed for ten minutes
    #[arg(long, hide = true, conflicts_with_all = ["path", "no_browser", "foreground"])]
    pub(crate) serve: bool,

    #[command(flatten)]
    pub(crate) google: GoogleAt,
}
