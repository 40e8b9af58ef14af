//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::jupyter_args::Jupyter;

/// Gives any AI agent a notebook, over the Model Context Protocol
///
/// Without a subcommand: an MCP server for the notebooks of the folder it runs in, with kernels of this machine, and
/// for a Google Colab tab.
#[derive(Debug, Parser)]
#[command(name = "cellbridge", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) every: Every,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what an agent can do here: makes, runs and mends a real notebook
    ///
    /// Starts this program as an MCP server, plays the agent, and leaves `cellbridge-demo.ipynb`. Where there is no
    /// Python kernel, one is installed first.
    Demo(Demo),

    /// Serve the notebook that a person has open in a Google Colab tab
    ///
    /// A drop-in for colab-mcp: the same tools, the same address, the same answers. The agent calls
    /// `open_colab_browser_connection`, the person accepts in the browser, and the agent reads, edits and runs
    /// the notebook in the tab.
    Colab(Box<Colab>),

    /// Serve the notebooks and kernels of a Jupyter server
    ///
    /// A drop-in for jupyter-mcp-server: the same tools, options and environment variables. Agents edit the notebooks
    /// that people have open, and both see each other's changes. Without an address, a server that this user has
    /// running is taken.
    Jupyter(Box<Jupyter>),
}

/// The server with every place.
#[derive(Debug, Args)]
pub(crate) struct Every {
    #[command(flatten)]
    pub(crate) serving: Serving,

    /// The folder that agents work in; nothing outside it is read or written [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// The characters that one reply may hold
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(500..))]
    pub(crate) max_characters: u32,

    /// The images that one reply may hold
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) max_images: u32,

    /// How long `execute_cell` waits when the agent does not say; the run itself goes on
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) execution_timeout: Duration,

    /// Never open a browser for the Colab tab
    #[arg(long)]
    pub(crate) no_browser: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where the notebook is left [default: the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Colab {
    #[command(flatten)]
    pub(crate) serving: Serving,

    /// Port for the Colab tab, on 127.0.0.1 and `::1` (0: any free one)
    ///
    /// With the stdio transport, --port says the same.
    #[arg(long, value_name = "PORT")]
    pub(crate) tab_port: Option<u16>,

    /// How long `open_colab_browser_connection` waits for the person
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) connect_timeout: Duration,

    /// Give up a call after this long without an answer or progress (0: never)
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) call_timeout: Duration,

    /// Never open a browser; the address to open is in the answer of `open_colab_browser_connection`
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Accepted for colab-mcp's sake; the bridge to the tab is always on
    #[arg(short = 'p', long)]
    pub(crate) enable_proxy: bool,

    /// Not built yet: run code on a Colab runtime without a tab
    #[arg(short = 'r', long)]
    pub(crate) enable_runtime: bool,

    /// Not built yet: the OAuth client for --enable-runtime
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(crate) client_oauth_config: Option<PathBuf>,
}

/// What every serving command takes.
#[derive(Debug, Args)]
pub(crate) struct Serving {
    /// How agents reach this server
    #[arg(long, value_enum, default_value = "stdio")]
    pub(crate) transport: Transport,

    /// Address to listen on for agents (streamable-http)
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// Port to listen on for agents (streamable-http; default 4040, 0: any free one)
    ///
    /// With the stdio transport: the port for the Colab tab.
    #[arg(long)]
    pub(crate) port: Option<u16>,

    /// Token that agents must send as "Authorization: Bearer" (streamable-http; default:
    /// `$CELLBRIDGE_TOKEN`, else a new one)
    ///
    /// Other users of this machine may see it here; the environment variable is better.
    #[arg(long, conflicts_with = "no_token")]
    pub(crate) token: Option<String>,

    /// Serve every agent on this machine, without a token (streamable-http, loopback only)
    #[arg(long)]
    pub(crate) no_token: bool,

    /// A further name by which this server may be addressed (streamable-http; repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) allowed_host: Vec<String>,

    #[command(flatten)]
    pub(crate) logging: Logging,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Logging {
    /// Write a log file into this folder
    #[arg(short = 'l', long, value_name = "DIR", conflicts_with = "log_file")]
    pub(crate) log: Option<PathBuf>,

    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// How much to log (default: warn on stderr, info in a file)
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) log_level: Option<Level>,

    /// Append OpenTelemetry spans of calls, runs and kernels to this file, as lines of OTLP JSON
    ///
    /// A collector is named by the standard variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[arg(long, value_name = "FILE", env = "CELLBRIDGE_OTEL_FILE")]
    pub(crate) otel_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    StreamableHttp,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected a number of seconds, 0 or more".to_owned())
}
