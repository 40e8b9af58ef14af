//! The command line.

mod colab_login;
mod environment;
mod install;
mod jupyter;
mod keep_kernels;
mod kernels;
mod notebooks;
mod serving;
#[cfg(test)]
mod tests;
mod unsupported;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use notebook::visible;

pub(crate) use colab_login::{ColabLogin, ColabVerb, GoogleAt};
use environment::variable_name;
pub(crate) use environment::{either, given, variable};
pub(crate) use install::{Install, Status, Uninstall, Which};
pub(crate) use jupyter::{Connect, JupyterArgs, JupyterServer, Places, Running, Servers, Start, Verb};
use keep_kernels::KEPT_BY_DEFAULT;
pub(crate) use keep_kernels::{KeepKernels, keep_kernels};
pub(crate) use kernels::{Kernels, KernelsVerb, ListKernels, LogsOfKernel, StopKernels};
pub(crate) use notebooks::{DiffSince, Export, History, RunNotebook, Undo, Verify, View};
pub(crate) use serving::{Logging, Network, Recording, Replies, Serving, Transport, seconds};
#[cfg(test)]
pub(crate) use unsupported::{SETTINGS, Setting};

/// Gives any AI agent a notebook, over the Model Context Protocol
///
/// Without a subcommand: an MCP server for the notebooks of the folder it runs in, with kernels of this machine, for
/// Jupyter servers, and for a Google Colab tab.
#[derive(Debug, Parser)]
#[command(name = "cellbridge", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) every: Every,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// Reads the command line, or prints the help or the error and exits.
    pub(crate) fn read() -> Self {
        let matches = environment::skip_empty_variables(Self::command()).try_get_matches();
        matches.and_then(|matches| Self::from_arg_matches(&matches)).unwrap_or_else(|error| {
            match visible_error(&error, std::env::args_os()) {
                None => drop(error.print()),
                Some(text) if error.use_stderr() => terminal::note(text.trim_end()),
                Some(text) => drop(terminal::say(text.trim_end())),
            }
            let is_verify = std::env::args_os().nth(1).is_some_and(|command| command == "verify");
            // For `verify`, the usual status of a wrong command line means that a cell fails.
            std::process::exit(if error.exit_code() == 2 && is_verify { 3 } else { error.exit_code() })
        })
    }
}

/// The error without colours, if an argument is no plain text: a shell puts any file name in place of `*.ipynb`, and clap would print it
/// as it is. What looks like colours in it is left out.
fn visible_error(error: &clap::Error, arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter();
    let is_hidden = arguments.any(|it| matches!(visible(&it.to_string_lossy()), Cow::Owned(_)));
    is_hidden.then(|| error.to_string())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what an agent can do: create, run and fix a real notebook
    ///
    /// Starts this program as an MCP server, plays the agent, and writes `cellbridge-demo.ipynb`. The notebook runs
    /// in a Python environment that this program creates at first use.
    Demo(Demo),

    /// Check what agents need on this machine, and name the command that fixes each problem
    ///
    /// Checks kernels, Jupyter servers, Colab, clients, stored state and limits of this machine, and changes nothing.
    /// Exit status: 0 without errors, 1 with errors, 2 for a wrong command line.
    Doctor(Box<Doctor>),

    /// Add this server to the configurations of MCP clients, such as Claude Code, Codex, Cursor and VS Code
    ///
    /// Nothing else in their files changes, and `cellbridge uninstall` reverts it. Without names, it asks which
    /// clients of this machine to configure.
    Install(Box<Install>),

    /// Remove this server from the configurations of MCP clients
    Uninstall(Uninstall),

    /// Show the MCP clients on this machine, and the commands that they start
    Status(Status),

    /// Serve the open notebook of a Google Colab tab
    ///
    /// A drop-in replacement for colab-mcp, with the same tools, address and answers. The agent calls
    /// `open_colab_browser_connection`, the person accepts in the browser, and the agent reads, edits and runs
    /// the notebook in the tab.
    Colab(Box<Colab>),

    /// Serve the notebooks and kernels of a Jupyter server
    ///
    /// A drop-in replacement for jupyter-mcp-server, with the same tools, options and environment variables. Agents edit the
    /// notebooks that people have open, and both see each other's changes. Without an address, it uses a running server of this
    /// user.
    Jupyter(Box<JupyterArgs>),

    /// List, stop or inspect kept kernels (`--keep-kernels`)
    Kernels(Kernels),

    /// Show what agents changed in a notebook
    History(History),

    /// Show the difference between a notebook's cells before agents changed them and now
    Diff(DiffSince),

    /// Undo changes of a notebook by agents
    ///
    /// Undoes everything or nothing: refused if a cell has changed since. Variables in a kernel stay as they are.
    Undo(Undo),

    /// Open a page that shows what agents do, where you can answer, interrupt and undo
    ///
    /// Shows the notebooks of a folder with their outputs as they change, the kernels and runs of all agents there, and the
    /// history of each notebook. Prints the address of the page, which only this user can use. One process serves all pages; it
    /// ends ten minutes after the last page was closed.
    View(View),

    /// Run a notebook from top to bottom in a fresh kernel
    ///
    /// Outputs are written as they arrive. The exit status is 0 if all cells ran, 1 if one failed, 2 if the command line is
    /// wrong, 3 if the notebook cannot run or be written, and 130 if it was interrupted.
    Run(Box<RunNotebook>),

    /// Check that notebooks rerun from a fresh kernel with the same outputs
    ///
    /// Their code runs again, with all its effects on files, databases and networks; notebooks and their kernels stay
    /// as they are. The exit status is 0 if all outputs are the same, 1 if any differ, 2 if a cell fails, and 3 if a
    /// notebook cannot run.
    Verify(Verify),

    /// Write a notebook as one HTML file, for people without Jupyter
    ///
    /// The file works without a network, and runs no scripts, except those of outputs with --interactive, in separate frames.
    /// The exit status is 0 if it was written, 1 if not, and 2 if the command line is wrong.
    Export(Export),
}

/// A process between server and kernel: `cellbridge keep`, which a server starts.
#[cfg(unix)]
#[derive(Debug, Parser)]
pub(crate) struct Keep {
    /// Start the keeper and exit
    #[arg(long)]
    pub(crate) detach: bool,

    /// Store the runs of the keeper in this folder, and exit
    #[arg(long, value_name = "DIR", conflicts_with = "detach")]
    pub(crate) settle: Option<PathBuf>,
}

#[cfg(unix)]
impl Keep {
    /// Reads the command line if it is this command. The others are not described for it, so that a keeper stays small.
    pub(crate) fn read() -> Option<Self> {
        let mut arguments = std::env::args_os().skip(1).peekable();
        arguments.next_if(|command| command == "keep")?;
        Some(Self::parse_from(std::iter::once("cellbridge keep".into()).chain(arguments)))
    }
}

/// The server for every place.
#[derive(Debug, Args)]
pub(crate) struct Every {
    #[command(flatten)]
    pub(crate) serving: Serving,

    #[command(flatten)]
    pub(crate) folder: InFolder,

    #[command(flatten)]
    pub(crate) replies: Replies,

    /// How long `execute_cell` waits if the call names no timeout; the run continues
    #[arg(long, value_name = "SECONDS", default_value = "50", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) execution_timeout: Duration,

    /// How long unused kernels of notebooks outlive this server, such as 30m or 2h, or off
    #[arg(long, value_name = "DURATION", env = "CELLBRIDGE_KEEP_KERNELS", default_value = KEPT_BY_DEFAULT, value_parser = keep_kernels)]
    pub(crate) keep_kernels: KeepKernels,

    #[command(flatten)]
    pub(crate) network: Network,

    /// Never open a browser for the Colab tab, or for notebooks
    #[arg(long)]
    pub(crate) no_browser: bool,

    #[command(flatten)]
    pub(crate) google: GoogleAt,
}

/// The folder, its kernels, and a server beside it.
#[derive(Debug, Args)]
pub(crate) struct InFolder {
    /// The folder that agents work in; nothing outside it is read or written [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) server: JupyterServer,

    /// Pass these variables to kernels, although they belong to the client or its model
    #[arg(long, value_name = "NAME", env = "CELLBRIDGE_KERNEL_ENV", value_delimiter = ',', value_parser = variable_name)]
    pub(crate) kernel_env: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where to write the notebook [default: the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// What to look at. The options of the server mean the same here.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print a JSON list of objects with check, status, subject, message and fix
    #[arg(long)]
    pub(crate) json: bool,

    /// Apply the safe fixes: permissions of this program's files, and leftover files of its stopped kernels
    #[arg(long)]
    pub(crate) fix: bool,

    #[command(flatten)]
    pub(crate) folder: InFolder,

    /// The port for the Colab tab (0: any free one)
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) tab_port: u16,

    /// Open no browser for the Colab tab
    #[arg(long)]
    pub(crate) no_browser: bool,

    #[command(flatten)]
    pub(crate) google: GoogleAt,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Colab {
    #[command(subcommand)]
    pub(crate) verb: Option<ColabVerb>,

    #[command(flatten)]
    pub(crate) serving: Serving,

    /// Port for the Colab tab, on 127.0.0.1 and `::1` (0: any free one)
    ///
    /// With the stdio transport, --port means the same.
    #[arg(long, value_name = "PORT")]
    pub(crate) tab_port: Option<u16>,

    /// How long `open_colab_browser_connection` waits for the person
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) connect_timeout: Duration,

    /// Time out a call after this long without an answer or progress (0: never)
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) call_timeout: Duration,

    #[command(flatten)]
    pub(crate) network: Network,

    /// Never open a browser; the answer of `open_colab_browser_connection` contains the address to open
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Accepted for compatibility with colab-mcp: the bridge to the tab is always on
    #[arg(short = 'p', long)]
    pub(crate) enable_proxy: bool,

    /// Offer `runtime_execute_code`, which runs code on a Colab CPU machine, without a tab
    ///
    /// The first call starts the machine, which ends with this server. With this option you agree to that, even if the
    /// machine uses your compute units; the answer of the first call reports it. Sign in first: `cellbridge colab login`.
    #[arg(short = 'r', long)]
    pub(crate) enable_runtime: bool,

    /// The JSON file of the OAuth client of the login for --enable-runtime [default: any login]
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(crate) client_oauth_config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) google: GoogleAt,
}
