//! The options that every serving command takes.

use std::path::PathBuf;
use std::time::Duration;

use calls::permissions::{Group, Offer, Policy};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use connection::NetworkTimeout;
use environments::ProcessEnv;
use tools::UnknownOffer;
use tracing::level_filters::LevelFilter;
use workspace::Settings;

use super::environment::truth;
use crate::process::history_folder;

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
    #[arg(long)]
    pub(crate) token: Option<String>,

    /// Serve every agent on this machine, without a token (streamable-http, loopback only)
    #[arg(long, value_name = "BOOL", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    pub(crate) no_token: bool,

    /// Another host name under which agents reach this server (streamable-http; repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) allowed_host: Vec<String>,

    /// How long a call waits before it goes on as a task, for clients that declare tasks
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) task_after: Duration,

    /// Let agents only read: tools that change or run anything are not listed, and calls to them are refused
    #[arg(long, value_name = "BOOL", env = "CELLBRIDGE_READ_ONLY", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    read_only: bool,

    /// Offer agents only these tools: read, edit, run, files, kernels, colab, or single tools by name
    #[arg(long, value_name = "GROUP", env = "CELLBRIDGE_TOOLS", value_delimiter = ',', value_parser = offer)]
    tools: Vec<Offer>,

    /// Ask the person before calls of these tools: edit, run, files, kernels, colab, delete, or single tools by name
    #[arg(long, value_name = "GROUP", env = "CELLBRIDGE_ASK", value_delimiter = ',', value_parser = asked)]
    ask: Vec<Offer>,

    /// Let agents install packages without asking the person
    #[arg(long, value_name = "BOOL", env = "CELLBRIDGE_ALLOW_INSTALL", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    allow_install: bool,

    #[command(flatten)]
    pub(crate) logging: Logging,
}

impl Serving {
    /// What agents may do.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            is_read_only: self.read_only,
            tools: self.tools.clone(),
            asked: self.ask.clone(),
            installs_unasked: self.allow_install,
        }
    }
}

/// Whether changes of notebooks are recorded.
#[derive(Debug, Clone, Args)]
pub(crate) struct Recording {
    /// Record no changes of notebooks; they cannot be undone
    #[arg(long, value_name = "BOOL", env = "CELLBRIDGE_NO_HISTORY", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    no_history: bool,
}

impl Recording {
    /// The folder of the records.
    pub(crate) fn folder(&self, process_env: &ProcessEnv) -> Option<PathBuf> {
        history_folder(process_env).filter(|_| !self.no_history)
    }
}

/// What replies hold, and what is recorded.
#[derive(Debug, Clone, Args)]
pub(crate) struct Replies {
    /// Maximum number of characters in one reply
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(500..))]
    pub(crate) max_characters: u32,

    /// Maximum number of images in one reply
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) max_images: u32,

    /// Omit a run's changes in memory from replies
    #[arg(long, value_name = "BOOL", env = "CELLBRIDGE_NO_CHANGES", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    pub(crate) no_changes: bool,

    #[command(flatten)]
    pub(crate) recording: Recording,
}

impl Replies {
    /// The settings of a workspace with these options.
    pub(crate) fn settings(&self, images: u32, timeout: Duration) -> Settings {
        Settings {
            budget: render::Budget::new(self.max_characters as usize, images as usize),
            default_timeout: timeout,
            run_suffix: runs::run_suffix(),
            asks_for_changes: !self.no_changes,
            ..Settings::default()
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Network {
    /// How long a server or a connection may be silent before it counts as gone
    #[arg(long, value_name = "SECONDS", env = "CELLBRIDGE_NETWORK_TIMEOUT", default_value = "30", value_parser = network_timeout, allow_negative_numbers = true)]
    pub(crate) network_timeout: NetworkTimeout,
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
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(crate) log_level: Option<LevelFilter>,

    /// Append OpenTelemetry spans of calls, runs and kernels to this file, as lines of OTLP JSON
    ///
    /// To send them to a collector, set the standard variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[arg(long, value_name = "FILE", env = "CELLBRIDGE_OTEL_FILE")]
    pub(crate) otel_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    StreamableHttp,
}

pub(super) fn level() -> impl TypedValueParser<Value = LevelFilter> {
    let names = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]);
    names.map(|name| name.parse().unwrap_or(LevelFilter::WARN))
}

fn offer(name: &str) -> Result<Offer, UnknownOffer> {
    of_colab(name).map_or_else(|| tools::offered(name), Ok)
}

fn asked(name: &str) -> Result<Offer, UnknownOffer> {
    of_colab(name).map_or_else(|| tools::asked(name), Ok)
}

fn of_colab(name: &str) -> Option<Offer> {
    (name.trim() == colab::GROUP).then_some(Offer::Group(Group::Relayed(colab::GROUP)))
}

fn network_timeout(text: &str) -> Result<NetworkTimeout, String> {
    Ok(NetworkTimeout::from_seconds(text.parse().unwrap_or(f64::NAN))?)
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected a number of seconds, 0 or more".to_owned())
}
