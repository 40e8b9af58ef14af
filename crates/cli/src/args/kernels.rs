//! The command line of `cellbridge kernels`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Kernels {
    /// Print a JSON list of objects
    #[arg(long)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) verb: Option<KernelsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelsVerb {
    /// List the kernels that servers have left running, and those of other programs on this machine
    List(ListKernels),

    /// End a kernel, with what runs on it
    Stop(StopKernels),

    /// Show what a kernel printed and what happened to it, as far as its keeper still has it
    Logs(LogsOfKernel),
}

#[derive(Debug, Args)]
pub(crate) struct ListKernels {
    /// Print a JSON list of objects
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsOfKernel {
    /// The kernel's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Print a JSON object for each entry, each in a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopKernels {
    /// The kernel's id, or the beginning of it
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) id: Option<String>,

    /// End all of them
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}
