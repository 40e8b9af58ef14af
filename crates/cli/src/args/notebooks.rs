//! The command lines of what a person does with notebooks: `view`, `run`, `verify`, `export`, `history`, `diff` and `undo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use names::Names;

use super::{GoogleAt, Places, Recording, seconds};

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

#[derive(Debug, Args)]
pub(crate) struct RunNotebook {
    /// A notebook on this machine, or `jupyter:PATH` for one on a Jupyter server
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Write the notebook with its outputs to this path, on this machine or on the server, and leave PATH as it is
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Set a variable, in a cell after the one with the tag `parameters` (repeatable)
    #[arg(long = "parameter", short, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, String)>,

    /// Start at this cell, given by its index or id
    #[arg(long, value_name = "CELL")]
    pub(crate) from: Option<String>,

    /// End with this cell
    #[arg(long, value_name = "CELL")]
    pub(crate) until: Option<String>,

    /// Run the other cells even if one fails
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// The kernelspec [default: the notebook's]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// How long each cell may take, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Show the notebook on the live page (`cellbridge view`)
    #[arg(long)]
    pub(crate) open: bool,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) recording: Recording,
}

/// The name of a variable in Python, and the rest.
fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let name = name.trim();
    if Names::of_cell(&format!("{name} = 0")).effects.defines.contains(name) {
        Ok((name.to_owned(), value.to_owned()))
    } else {
        Err(format!("{name:?} is not the name of a variable"))
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Verify {
    /// Notebooks on this machine, or `jupyter:PATH` for those on a Jupyter server
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// How long each cell may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Run in a copy of the notebook's folder, of up to 1 GB, so that its files stay as they are
    #[arg(long)]
    pub(crate) copy: bool,

    /// Write the fresh outputs into notebooks without failed cells
    #[arg(long)]
    pub(crate) apply: bool,

    /// Print a JSON list of objects, one for each notebook
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a `JUnit` report with a test for each cell, for CI
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Also write a page with the notebooks, with the result for each cell
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Show the notebook on the live page (`cellbridge view`)
    #[arg(long)]
    pub(crate) open: bool,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) recording: Recording,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The notebook on this machine, or `jupyter:PATH` for one on a Jupyter server
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Write the page to this file, or to standard output (-)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Run the scripts of outputs such as Plotly charts, in frames without a network
    #[arg(long)]
    pub(crate) interactive: bool,

    /// Leave out the sources of code cells
    #[arg(long)]
    pub(crate) no_input: bool,

    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The notebook on this machine, or `jupyter:PATH` for one on a Jupyter server
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Show what this operation changed, such as o12
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct DiffSince {
    /// The notebook on this machine, or `jupyter:PATH` for one on a Jupyter server
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// An operation such as o12, a checkpoint, or a time such as 2026-11-24 14:05 [default: the oldest recorded
    /// operation]
    #[arg(value_name = "SINCE")]
    pub(crate) since: Option<String>,

    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The notebook on this machine, or `jupyter:PATH` for one on a Jupyter server
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// An operation such as o12 [default: the latest one that is still in effect]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Undo this many of the latest operations that are still in effect
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["id", "since"])]
    pub(crate) last: usize,

    /// Undo all from this operation on, or since this checkpoint or time
    #[arg(long, value_name = "SINCE", conflicts_with = "id")]
    pub(crate) since: Option<String>,

    /// Undo only the changes to this cell, given by its id (repeatable)
    #[arg(long, value_name = "CELL")]
    pub(crate) only: Vec<String>,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) preview: bool,

    #[command(flatten)]
    pub(crate) places: Places,
}
