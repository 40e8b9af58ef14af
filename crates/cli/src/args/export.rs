//! The command line of `cellbridge export`.

use std::path::PathBuf;

use clap::Args;

use super::Places;

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
