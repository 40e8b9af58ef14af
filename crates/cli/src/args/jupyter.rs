//! The command line of `cellbridge jupyter`: the options and environment variables of `jupyter-mcp-server`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Resettable;
use clap::{ArgAction, Args, Subcommand};

use super::environment::{given, truth};
use super::serving::{Network, Replies, Serving, seconds};
use super::unsupported;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JupyterArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,

    #[command(flatten)]
    pub(crate) start: Start,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serve; the same as without this subcommand
    Start(Box<Start>),
    /// Switch a running server (streamable-http) to another Jupyter server
    Connect(Box<Connect>),
    /// Close the notebooks of a running server (streamable-http) and stop their kernels
    Stop(Running),
}

/// A Jupyter server beside other places.
#[derive(Debug, Clone, Args)]
pub(crate) struct JupyterServer {
    /// A Jupyter server, as pasted from a browser, for paths such as `jupyter:x.ipynb`
    ///
    /// Agents then work there: paths without a prefix are on this server, and `local:x.ipynb` is in the folder.
    /// Without this option, agents can connect to a server.
    #[arg(long, value_name = "URL", env = "JUPYTER_URL")]
    pub(crate) jupyter_url: Option<String>,

    /// Its token; other users of this machine may see it here, so prefer the environment variable
    #[arg(long, value_name = "TOKEN", env = "JUPYTER_TOKEN")]
    pub(crate) jupyter_token: Option<String>,

    /// Its password, if it has no token
    #[arg(long, value_name = "PASSWORD", env = "JUPYTER_PASSWORD")]
    pub(crate) jupyter_password: Option<String>,

    /// Certificates to trust in addition to the system's (PEM)
    #[arg(long, value_name = "FILE", env = "REQUESTS_CA_BUNDLE")]
    pub(crate) ca_file: Option<PathBuf>,
}

/// Where the notebooks are that a person names.
#[derive(Debug, Args)]
pub(crate) struct Places {
    #[command(flatten)]
    pub(crate) server: JupyterServer,

    #[command(flatten)]
    pub(crate) network: Network,
}

/// The Jupyter server, or the two servers of notebooks and of kernels.
#[derive(Debug, Args)]
#[command(args = unsupported::options())]
pub(crate) struct Servers {
    /// The Jupyter server, as pasted from a browser [default: a running one of this user]
    #[arg(long, value_name = "URL", env = "JUPYTER_URL")]
    pub(crate) jupyter_url: Option<String>,

    /// Its token; other users of this machine may see it here, so prefer the environment variable
    #[arg(long, value_name = "TOKEN", env = "JUPYTER_TOKEN")]
    pub(crate) jupyter_token: Option<String>,

    /// The server of the notebooks, if it differs from the server of the kernels
    #[arg(long, value_name = "URL", env = "DOCUMENT_URL")]
    pub(crate) document_url: Option<String>,

    /// Its token
    #[arg(long, value_name = "TOKEN", env = "DOCUMENT_TOKEN")]
    pub(crate) document_token: Option<String>,

    /// The notebook to open first
    #[arg(long, value_name = "PATH", env = "DOCUMENT_ID")]
    pub(crate) document_id: Option<String>,

    /// The server of the kernels, if it differs from the server of the notebooks
    #[arg(long, visible_alias = "runtime-url", value_name = "URL", env = "CODE_SANDBOX_URL")]
    pub(crate) code_sandbox_url: Option<String>,

    /// Its token
    #[arg(long, visible_alias = "runtime-token", value_name = "TOKEN", env = "CODE_SANDBOX_TOKEN")]
    pub(crate) code_sandbox_token: Option<String>,

    /// The kernel of the first notebook
    #[arg(long, visible_alias = "runtime-id", value_name = "ID", env = "CODE_SANDBOX_ID")]
    pub(crate) code_sandbox_id: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("transport", |it| it.env("TRANSPORT")),
    mut_arg("host", |it| it.env("HOST")),
    mut_arg("port", |it| it.env("PORT").long_help(Resettable::Reset)),
    mut_arg("token", |it| it.env("MCP_TOKEN").visible_alias("mcp-token")),
    mut_arg("no_token", |it| it.env("INSECURE_MCP_NOAUTH").visible_alias("insecure-mcp-noauth"))
)]
#[expect(clippy::struct_field_names, reason = "they are the options' names")]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) serving: Serving,

    #[command(flatten)]
    pub(crate) servers: Servers,

    /// The Jupyter server's password, if it has no token
    #[arg(long, value_name = "PASSWORD", env = "JUPYTER_PASSWORD")]
    pub(crate) jupyter_password: Option<String>,

    /// The password of the server of the notebooks
    #[arg(long, value_name = "PASSWORD", env = "DOCUMENT_PASSWORD")]
    pub(crate) document_password: Option<String>,

    /// The password of the server of the kernels
    #[arg(long, value_name = "PASSWORD", env = "CODE_SANDBOX_PASSWORD")]
    pub(crate) code_sandbox_password: Option<String>,

    /// Accepted for compatibility with jupyter-mcp-server: a kernel starts with the first run
    #[arg(long, visible_alias = "start-new-runtime", value_name = "BOOL", env = "START_NEW_CODE_SANDBOX", value_parser = truth)]
    pub(crate) start_new_code_sandbox: Option<bool>,

    /// Whether replies contain images
    #[arg(long, value_name = "BOOL", env = "ALLOW_IMG_OUTPUT", value_parser = truth, default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) allow_img_output: bool,

    /// Whether agents may open notebooks in `JupyterLab` (if it has jupyterlab-commands-toolkit)
    #[arg(long, value_name = "BOOL", env = "JUPYTERLAB", value_parser = truth, default_value = "true", action = ArgAction::Set)]
    pub(crate) jupyterlab: bool,

    /// Seconds between attempts to reconnect to a server (0: at once, then with growing pauses)
    #[arg(long, value_name = "SECONDS", env = "RECONNECT_INTERVAL", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) reconnect_interval: Duration,

    #[command(flatten)]
    pub(crate) network: Network,

    /// How long `execute_cell` waits if the call names no timeout; the run continues
    #[arg(long, value_name = "SECONDS", env = "JUPYTER_MCP_EXECUTION_TIMEOUT", default_value = "50", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) execution_timeout: Duration,

    /// Maximum time that a call waits for a run
    #[arg(long, value_name = "SECONDS", env = "JUPYTER_MCP_MAX_EXECUTION_TIMEOUT", default_value = "3600", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_execution_timeout: Duration,

    #[command(flatten)]
    pub(crate) replies: Replies,

    /// Certificates to trust in addition to the system's (PEM)
    #[arg(long, value_name = "FILE", env = "REQUESTS_CA_BUNDLE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Accepts kernel.auto-restart, which is always on: the next run after a kernel died starts a new one and reports
    /// that
    #[arg(long, value_name = "NAME", env = "JUPYTER_MCP_CAPABILITIES", value_delimiter = ',', value_parser = capability)]
    pub(crate) capability: Vec<String>,
}

/// A server that is running with `--transport streamable-http`.
#[derive(Debug, Args)]
pub(crate) struct Running {
    /// Its address
    #[arg(long, value_name = "URL", env = "JUPYTER_MCP_SERVER_URL", default_value = "http://localhost:4040")]
    pub(crate) jupyter_mcp_server_url: String,

    /// Its token; other users of this machine may see it here, so prefer the environment variable
    #[arg(long, visible_alias = "token", value_name = "TOKEN", env = "MCP_TOKEN")]
    pub(crate) mcp_token: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Connect {
    #[command(flatten)]
    pub(crate) running: Running,

    #[command(flatten)]
    pub(crate) servers: Servers,
}

/// `kernel.auto-restart` is what happens here in any case.
fn capability(text: &str) -> Result<String, String> {
    const KNOWN: &str = "kernel.auto-restart";
    let (name, value) = text.split_once('=').unwrap_or((text, "on"));
    let is_off =
        matches!(value.trim().to_ascii_lowercase().as_str(), "off" | "false" | "0" | "no" | "disabled");
    match name.trim() {
        KNOWN if is_off => {
            Err(format!("{KNOWN} cannot be turned off: the next run after a kernel died starts a new one"))
        }
        KNOWN => Ok(text.to_owned()),
        // A comma at the end of a list.
        "" if given(Some(text)).is_none() => Ok(String::new()),
        _ => Err(format!("the only capability is {KNOWN}")),
    }
}
