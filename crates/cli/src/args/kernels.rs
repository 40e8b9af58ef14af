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
    /// List kept kernels, and the external kernels of this machine
    List(ListKernels),

    /// Stop a kernel and its runs
    Stop(StopKernels),

    /// Show the output and the events of a kernel, from its keeper's log
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
    /// The kernel's id, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Print one JSON object per line, one for each entry
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopKernels {
    /// The kernel's id, or the start of it
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) id: Option<String>,

    /// Stop all kept kernels
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}
