//! The command line of `cellbridge run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use names::Names;

use super::{Places, Recording, seconds};

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
