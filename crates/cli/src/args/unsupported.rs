//! Settings of `jupyter-mcp-server` that cannot be served. Each is refused by name, so that nobody believes that it
//! works.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::{ErrorKind, Result};
use clap::{Arg, Command, Error};

use super::environment::{given, truth};

/// An option without its dashes, its variable, the value that asks for what happens anyway, and the reason, which completes a sentence
/// that begins with the option. The original has no option for a variable whose name starts with `JUPYTER_MCP_`.
#[derive(Clone, Copy)]
pub(crate) struct Setting(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) Option<&'static str>,
    pub(crate) &'static str,
);

const PROVIDER: &str = "other than jupyter exists only in a vendor's cloud";
const VENDOR: &str = "exists only in a vendor's cloud";
const PYTHON_CLASS: &str = "names a Python class, and this program cannot load one";

pub(crate) const SETTINGS: [Setting; 19] = [
    Setting("document-provider", "DOCUMENT_PROVIDER", Some("jupyter"), PROVIDER),
    Setting("provider", "PROVIDER", Some("jupyter"), PROVIDER),
    Setting(
        "allowed-jupyter-mcp-tools",
        "ALLOWED_JUPYTER_MCP_TOOLS",
        None,
        "chooses JupyterLab commands, which are not offered as tools here; run_cells runs a whole \
         notebook, and read_cell with cell_id=\"@selected\" reads the selected cell",
    ),
    Setting(
        "open-notebook-in-ui",
        "OPEN_NOTEBOOK_IN_UI",
        Some("off"),
        "is not supported; agents open a notebook in JupyterLab with the tool open_in_browser",
    ),
    Setting("sandbox-variant", "SANDBOX_VARIANT", Some("jupyter-server"), VENDOR),
    Setting("sandbox-environment", "SANDBOX_ENVIRONMENT", None, VENDOR),
    Setting("sandbox-gpu", "SANDBOX_GPU", None, VENDOR),
    Setting("code-sandbox-proxy-token", "CODE_SANDBOX_PROXY_TOKEN", None, VENDOR),
    Setting("code-sandbox-channels-url", "CODE_SANDBOX_CHANNELS_URL", None, VENDOR),
    Setting(
        "jupyter-mcp-stateful",
        "JUPYTER_MCP_STATEFUL",
        Some("on"),
        "cannot turn off sessions: each client that calls initialize gets one",
    ),
    Setting(
        "jupyter-mcp-execute-via-http",
        "JUPYTER_MCP_EXECUTE_VIA_HTTP",
        Some("off"),
        "is not supported: cells run over the kernel's own channels",
    ),
    Setting(
        "jupyter-mcp-watch-notebooks",
        "JUPYTER_MCP_WATCH_NOTEBOOKS",
        Some("on"),
        "cannot turn off the connection to a live notebook: edits and outputs travel through it",
    ),
    Setting(
        "jupyter-mcp-extensions",
        "JUPYTER_MCP_EXTENSIONS",
        None,
        "names Python entry points, and this program cannot load them",
    ),
    Setting("jupyter-mcp-token-verifier-class", "JUPYTER_MCP_TOKEN_VERIFIER_CLASS", None, PYTHON_CLASS),
    Setting("jupyter-mcp-audit-sink-class", "JUPYTER_MCP_AUDIT_SINK_CLASS", None, PYTHON_CLASS),
    Setting("jupyter-mcp-task-store-class", "JUPYTER_MCP_TASK_STORE_CLASS", None, PYTHON_CLASS),
    Setting("jupyter-mcp-publisher-class", "JUPYTER_MCP_PUBLISHER_CLASS", None, PYTHON_CLASS),
    Setting("jupyter-mcp-resource-gate-class", "JUPYTER_MCP_RESOURCE_GATE_CLASS", None, PYTHON_CLASS),
    Setting(
        "jupyter-mcp-cors-origins",
        "JUPYTER_MCP_CORS_ORIGINS",
        None,
        "is not supported: web pages of another origin may not use this server",
    ),
];

/// The settings as options that no help shows.
pub(super) fn options() -> impl Iterator<Item = Arg> {
    SETTINGS.into_iter().map(|setting| {
        let option = Arg::new(setting.0).long(setting.0).env(setting.1).hide(true);
        option.value_name("VALUE").value_parser(setting)
    })
}

impl TypedValueParser for Setting {
    type Value = ();

    /// Fails without the value, which may be a secret.
    fn parse_ref(&self, _command: &Command, _option: Option<&Arg>, value: &OsStr) -> Result<()> {
        let (Self(option, variable, harmless, reason), value) = (self, value.to_string_lossy());
        let is_harmless = |harmless: &str| match truth(harmless) {
            Ok(harmless) => truth(&value) == Ok(harmless),
            Err(_) => value.replace('_', "-").eq_ignore_ascii_case(harmless),
        };
        if given(Some(&value)).is_none() || harmless.is_some_and(is_harmless) {
            return Ok(());
        }
        let cause = format!("--{option} ({variable}) {reason}. Leave it out.\n");
        Err(Error::raw(ErrorKind::InvalidValue, cause))
    }
}
