//! The command line of `cellbridge verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Places, Recording, seconds};

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
