//! Settings of `jupyter-mcp-server` that cannot be served. Each is refused by name, so that nobody believes that it
//! works.

use std::ffi::OsStr;

use clap::error::Result;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::environment::{given, truth, variable};

/// The setting that was given and cannot be served, with the reason.
#[derive(Debug)]
pub(crate) struct Unsupported(pub(crate) Option<String>);

struct Setting {
    /// Without the leading dashes; empty if there is only a variable.
    option: &'static str,
    variable: &'static str,
    /// The value that asks for what happens anyway.
    harmless: fn(&str) -> bool,
    /// Completes a sentence that begins with the setting's name.
    reason: &'static str,
}

const VENDOR: &str = "exists only in a vendor's cloud";
const PYTHON_CLASS: &str = "names a Python class, and this program cannot load one";

const SETTINGS: [Setting; 17] = [
    Setting {
        option: "allowed-jupyter-mcp-tools",
        variable: "ALLOWED_JUPYTER_MCP_TOOLS",
        harmless: |_| false,
        reason: "chooses JupyterLab commands, which are not offered as tools here; run_cells runs a whole \
                 notebook, and read_cell with cell_id=\"@selected\" reads the selected cell",
    },
    Setting {
        option: "open-notebook-in-ui",
        variable: "OPEN_NOTEBOOK_IN_UI",
        harmless: is_off,
        reason: "is not supported; agents open a notebook in JupyterLab with the tool open_in_browser",
    },
    Setting { option: "sandbox-variant", variable: "SANDBOX_VARIANT", harmless: is_jupyter, reason: VENDOR },
    vendor("sandbox-environment", "SANDBOX_ENVIRONMENT"),
    vendor("sandbox-gpu", "SANDBOX_GPU"),
    vendor("code-sandbox-proxy-token", "CODE_SANDBOX_PROXY_TOKEN"),
    vendor("code-sandbox-channels-url", "CODE_SANDBOX_CHANNELS_URL"),
    variable_only(
        "JUPYTER_MCP_STATEFUL",
        is_on,
        "cannot turn off sessions: each client that calls initialize gets one",
    ),
    variable_only(
        "JUPYTER_MCP_EXECUTE_VIA_HTTP",
        is_off,
        "is not supported: cells run over the kernel's own channels",
    ),
    variable_only(
        "JUPYTER_MCP_WATCH_NOTEBOOKS",
        is_on,
        "cannot turn off the connection to a live notebook: edits and outputs travel through it",
    ),
    variable_only(
        "JUPYTER_MCP_EXTENSIONS",
        |_| false,
        "names Python entry points, and this program cannot load them",
    ),
    variable_only("JUPYTER_MCP_TOKEN_VERIFIER_CLASS", |_| false, PYTHON_CLASS),
    variable_only("JUPYTER_MCP_AUDIT_SINK_CLASS", |_| false, PYTHON_CLASS),
    variable_only("JUPYTER_MCP_TASK_STORE_CLASS", |_| false, PYTHON_CLASS),
    variable_only("JUPYTER_MCP_PUBLISHER_CLASS", |_| false, PYTHON_CLASS),
    variable_only("JUPYTER_MCP_RESOURCE_GATE_CLASS", |_| false, PYTHON_CLASS),
    variable_only(
        "JUPYTER_MCP_CORS_ORIGINS",
        |_| false,
        "is not supported: web pages of another origin may not use this server",
    ),
];

const fn vendor(option: &'static str, variable: &'static str) -> Setting {
    Setting { option, variable, harmless: |_| false, reason: VENDOR }
}

const fn variable_only(variable: &'static str, harmless: fn(&str) -> bool, reason: &'static str) -> Setting {
    Setting { option: "", variable, harmless, reason }
}

fn is_on(value: &str) -> bool {
    truth(value) == Ok(true)
}

fn is_off(value: &str) -> bool {
    truth(value) == Ok(false)
}

fn is_jupyter(variant: &str) -> bool {
    variant.replace('_', "-").eq_ignore_ascii_case("jupyter-server")
}

/// Every setting that is refused: its option without dashes, if it has one, its variable, and the reason.
#[cfg(test)]
pub(crate) fn refused() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    SETTINGS.iter().map(|setting| (setting.option, setting.variable, setting.reason))
}

impl Setting {
    /// Why it cannot be served, if it was given a value that would change something.
    fn refusal(&self, matches: &ArgMatches) -> Option<String> {
        let (name, value) = if self.option.is_empty() {
            (self.variable.to_owned(), variable(self.variable))
        } else {
            let value = matches.get_one::<String>(self.option);
            (format!("--{} ({})", self.option, self.variable), value.cloned())
        };
        let value = given(value.as_deref())?;
        (!(self.harmless)(value)).then(|| format!("{name} {}. Leave it out.", self.reason))
    }
}

impl FromArgMatches for Unsupported {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self> {
        Ok(Self(SETTINGS.iter().find_map(|setting| setting.refusal(matches))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<()> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Unsupported {
    fn augment_args(command: Command) -> Command {
        let options = SETTINGS.iter().filter(|setting| !setting.option.is_empty());
        command.args(options.map(|setting| {
            let argument = Arg::new(setting.option).long(setting.option).hide(true);
            argument.env(OsStr::new(setting.variable)).value_name("VALUE")
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
