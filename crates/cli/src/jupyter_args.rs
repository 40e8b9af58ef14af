//! The command line of `cellbridge jupyter`: the options and environment variables of `jupyter-mcp-server`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Resettable;
use clap::{Arg, Args, ValueEnum};

use crate::args::{Logging, Transport, seconds};

/// What `jupyter-mcp-server` calls the only thing that it can be told to do as a server.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Verb {
    /// Serve; also without this word
    Start,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "they are the options' names")]
pub(crate) struct Jupyter {
    /// May be left out
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) verb: Option<Verb>,

    /// How agents reach this server
    #[arg(long, value_enum, env = "TRANSPORT", default_value = "stdio")]
    pub(crate) transport: Transport,

    /// Address to listen on for agents (streamable-http)
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// Port to listen on for agents (streamable-http; 0: any free one)
    #[arg(long, env = "PORT", default_value_t = 4040)]
    pub(crate) port: u16,

    /// The Jupyter server, as pasted from a browser [default: one that this user has running]
    #[arg(long, value_name = "URL", env = "JUPYTER_URL")]
    pub(crate) jupyter_url: Option<String>,

    /// Its token; other users of this machine may see it here, the environment variable is better
    #[arg(long, value_name = "TOKEN", env = "JUPYTER_TOKEN")]
    pub(crate) jupyter_token: Option<String>,

    /// Its password, where it has no token
    #[arg(long, value_name = "PASSWORD", env = "JUPYTER_PASSWORD")]
    pub(crate) jupyter_password: Option<String>,

    /// The server of the notebooks, if it is another than that of the kernels
    #[arg(long, value_name = "URL", env = "DOCUMENT_URL")]
    pub(crate) document_url: Option<String>,

    /// Its token
    #[arg(long, value_name = "TOKEN", env = "DOCUMENT_TOKEN")]
    pub(crate) document_token: Option<String>,

    /// Its password
    #[arg(long, value_name = "PASSWORD", env = "DOCUMENT_PASSWORD")]
    pub(crate) document_password: Option<String>,

    /// A notebook to begin with
    #[arg(long, value_name = "PATH", env = "DOCUMENT_ID")]
    pub(crate) document_id: Option<String>,

    /// Always `jupyter`
    #[arg(long, visible_alias = "provider", value_name = "NAME", env = "DOCUMENT_PROVIDER")]
    pub(crate) document_provider: Option<String>,

    /// The server of the kernels, if it is another than that of the notebooks
    #[arg(long, visible_alias = "runtime-url", value_name = "URL", env = "CODE_SANDBOX_URL")]
    pub(crate) code_sandbox_url: Option<String>,

    /// Its token
    #[arg(long, visible_alias = "runtime-token", value_name = "TOKEN", env = "CODE_SANDBOX_TOKEN")]
    pub(crate) code_sandbox_token: Option<String>,

    /// Its password
    #[arg(long, value_name = "PASSWORD", env = "CODE_SANDBOX_PASSWORD")]
    pub(crate) code_sandbox_password: Option<String>,

    /// The kernel that the first notebook is to run on
    #[arg(long, visible_alias = "runtime-id", value_name = "ID", env = "CODE_SANDBOX_ID")]
    pub(crate) code_sandbox_id: Option<String>,

    /// Accepted for jupyter-mcp-server's sake: a kernel starts with the first run, and not before
    #[arg(long, visible_alias = "start-new-runtime", value_name = "BOOL", env = "START_NEW_CODE_SANDBOX", value_parser = truth)]
    pub(crate) start_new_code_sandbox: Option<bool>,

    /// Token that agents must send as "Authorization: Bearer" (streamable-http; default: a new one)
    #[arg(long, visible_alias = "token", value_name = "TOKEN", env = "MCP_TOKEN")]
    pub(crate) mcp_token: Option<String>,

    /// Serve every agent on this machine, without a token (streamable-http, loopback only)
    #[arg(long, visible_alias = "no-token", env = "INSECURE_MCP_NOAUTH", value_parser = truth, num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true)]
    pub(crate) insecure_mcp_noauth: bool,

    /// A further name by which this server may be addressed (streamable-http; repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) allowed_host: Vec<String>,

    /// Whether agents are sent images
    #[arg(long, value_name = "BOOL", env = "ALLOW_IMG_OUTPUT", value_parser = truth, default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) allow_img_output: bool,

    /// Seconds between attempts to reach a server again (0: at once, then less and less often)
    #[arg(long, value_name = "SECONDS", env = "RECONNECT_INTERVAL", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) reconnect_interval: Duration,

    /// How long `execute_cell` waits when the agent does not say; the run itself goes on
    #[arg(long, value_name = "SECONDS", env = "JUPYTER_MCP_EXECUTION_TIMEOUT", default_value = "120", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) execution_timeout: Duration,

    /// The longest that a call waits for a run
    #[arg(long, value_name = "SECONDS", env = "JUPYTER_MCP_MAX_EXECUTION_TIMEOUT", default_value = "3600", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_execution_timeout: Duration,

    /// The characters that one reply may hold
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(500..))]
    pub(crate) max_characters: u32,

    /// The images that one reply may hold
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) max_images: u32,

    /// Certificates to trust beside the system's (PEM)
    #[arg(long, value_name = "FILE", env = "REQUESTS_CA_BUNDLE")]
    pub(crate) ca_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) ignored: Ignored,

    #[command(flatten)]
    pub(crate) vendor: Vendor,

    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// What configurations of `jupyter-mcp-server` may hold and what changes nothing here.
#[derive(Debug, Args)]
pub(crate) struct Ignored {
    /// Whether its server runs with `JupyterLab`.
    #[arg(long, hide = true, env = "JUPYTERLAB")]
    jupyterlab: Option<String>,
    #[arg(long, hide = true, env = "OPEN_NOTEBOOK_IN_UI")]
    open_notebook_in_ui: Option<String>,
    #[arg(long, hide = true, env = "ALLOWED_JUPYTER_MCP_TOOLS")]
    allowed_jupyter_mcp_tools: Option<String>,
}

/// What makes sense only in a vendor's cloud, or would need a Python class to be loaded.
#[derive(Debug, Args)]
pub(crate) struct Vendor {
    #[arg(long, hide = true, env = "SANDBOX_VARIANT")]
    sandbox_variant: Option<String>,
    #[arg(long, hide = true, env = "SANDBOX_ENVIRONMENT")]
    sandbox_environment: Option<String>,
    #[arg(long, hide = true, env = "SANDBOX_GPU")]
    sandbox_gpu: Option<String>,
    #[arg(long, hide = true, env = "CODE_SANDBOX_PROXY_TOKEN")]
    code_sandbox_proxy_token: Option<String>,
    #[arg(long, hide = true, env = "CODE_SANDBOX_CHANNELS_URL")]
    code_sandbox_channels_url: Option<String>,
    #[arg(long, hide = true, env = "JUPYTER_MCP_TOKEN_VERIFIER_CLASS")]
    token_verifier_class: Option<String>,
}

impl Jupyter {
    /// The option that cannot be served, and why, if any.
    pub(crate) fn refused(&self) -> Option<String> {
        let provider = given(self.document_provider.as_deref());
        if let Some(provider) = provider.filter(|provider| !provider.eq_ignore_ascii_case("jupyter")) {
            return Some(format!(
                "--document-provider {provider} exists only in a vendor's cloud; leave it out"
            ));
        }
        let vendor = &self.vendor;
        let variant = given(vendor.sandbox_variant.as_deref()).filter(|it| *it != "jupyter-server");
        let options = [
            ("--sandbox-variant", variant),
            ("--sandbox-environment", given(vendor.sandbox_environment.as_deref())),
            ("--sandbox-gpu", given(vendor.sandbox_gpu.as_deref())),
            ("--code-sandbox-proxy-token", given(vendor.code_sandbox_proxy_token.as_deref())),
            ("--code-sandbox-channels-url", given(vendor.code_sandbox_channels_url.as_deref())),
        ];
        if let Some((option, _)) = options.into_iter().find(|(_, value)| value.is_some()) {
            return Some(format!("{option} makes sense only in a vendor's cloud; leave it out"));
        }
        given(vendor.token_verifier_class.as_deref()).map(|_| {
            "JUPYTER_MCP_TOKEN_VERIFIER_CLASS names a Python class, which is not loaded here; use --mcp-token"
                .to_owned()
        })
    }
}

/// Configurations that must say something say nothing in these ways.
pub(crate) fn given(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !matches!(value.to_ascii_lowercase().as_str(), "" | "none" | "null"))
}

/// Leaves an argument's environment variable out of account if it says nothing.
pub(crate) fn heed_variable(argument: Arg) -> Arg {
    let value = argument.get_env().and_then(|name| std::env::var(name).ok());
    match value {
        Some(value) if given(Some(&value)).is_none() => argument.env(Resettable::Reset),
        // The help tells the name; the value is nobody else's business.
        _ => argument.hide_env_values(true),
    }
}

fn truth(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" | "on" => Ok(true),
        "" | "0" | "false" | "f" | "no" | "n" | "off" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}
