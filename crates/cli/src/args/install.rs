//! The command line of `install`, `uninstall` and `status`.

use clap::Args;
use clients::{CLIENTS, Client};

use super::environment::variable_name;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Let clients connect to the running server at this address instead of starting one; ws: over WebSocket
    #[arg(long, value_name = "URL", visible_alias = "ws", conflicts_with_all = ["jupyter", "colab", "read_only", "options"])]
    pub(crate) http: Option<String>,

    /// The variable with that server's token; the configuration names the variable, never the token
    #[arg(long, value_name = "NAME", requires = "http", default_value = "CELLBRIDGE_TOKEN", value_parser = variable_name)]
    pub(crate) token_variable: String,

    /// That server needs no token
    #[arg(long, requires = "http", conflicts_with = "token_variable")]
    pub(crate) no_token: bool,

    /// Give agents this Jupyter server in addition to the folder; set its token in `JUPYTER_TOKEN`
    #[arg(long, value_name = "URL", conflicts_with = "colab")]
    pub(crate) jupyter: Option<String>,

    /// Only the tools of the Colab tab, as with `cellbridge colab`; without this option, agents have the tab in
    /// addition to the folder
    #[arg(long)]
    pub(crate) colab: bool,

    /// Let agents only read
    #[arg(long)]
    pub(crate) read_only: bool,

    /// Show what would change, as a diff, and write nothing
    #[arg(long, conflicts_with = "print")]
    pub(crate) dry_run: bool,

    /// Print the text to paste into each client's configuration, and write nothing
    #[arg(long)]
    pub(crate) print: bool,

    /// Further options of the server, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) which: Which,

    /// Show what would change, as a diff, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Which configurations are meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Names of clients, as `cellbridge status` lists them
    #[arg(value_name = "CLIENT", value_parser = client, conflicts_with = "all")]
    pub(crate) clients: Vec<&'static Client>,

    /// All clients on this machine
    #[arg(long)]
    pub(crate) all: bool,

    /// The configuration of the project in the current folder, instead of the user's
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn client(name: &str) -> Result<&'static Client, String> {
    let id = name.to_ascii_lowercase().replace([' ', '_'], "-");
    Client::named(&id).ok_or_else(|| {
        let ids: Vec<_> = CLIENTS.iter().map(|client| client.id).collect();
        format!("expected one of {}", ids.join(", "))
    })
}
