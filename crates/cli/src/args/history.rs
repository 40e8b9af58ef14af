//! The command lines of `cellbridge history`, `diff` and `undo`.

use std::path::PathBuf;

use clap::Args;

use super::Places;

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
