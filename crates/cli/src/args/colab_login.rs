//! The command line of `cellbridge colab login`, `status` and `logout`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use colab_machines::Google;
use tracing::level_filters::LevelFilter;

use super::serving::level;

#[derive(Debug, Subcommand)]
pub(crate) enum ColabVerb {
    /// Sign in to Google's Colab API with your own OAuth client
    ///
    /// Opens Google's page in a browser and waits five minutes for its answer. The login is stored in a file that only you can
    /// read. With it, agents can start Colab machines without a tab. At the end, one request shows whether Google's API answers.
    Login(Box<ColabLogin>),

    /// Show who is signed in to Colab's API, until when, and what is missing
    ///
    /// Checks the login and the API with Google. The exit status is 0 if both can be used, and 1 if not.
    Status(Box<Account>),

    /// Revoke the login to Colab's API, and remove it from this machine
    Logout(Box<Account>),
}

#[derive(Debug, Args)]
pub(crate) struct ColabLogin {
    /// The JSON file of your OAuth client for a desktop app [default: the client of the stored login]
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(crate) client_oauth_config: Option<PathBuf>,

    /// Take over the login of `gcloud auth application-default login`, made with your own client. Not tried against Google
    #[arg(long, conflicts_with = "client_oauth_config")]
    pub(crate) adc: bool,

    /// Open no browser: print the address, and read the address that the browser was sent to
    #[arg(long)]
    pub(crate) no_browser: bool,

    #[command(flatten)]
    pub(crate) account: Account,
}

/// Requests to Google, and their log.
#[derive(Debug, Args)]
pub(crate) struct Account {
    /// Log to stderr, for example Google's answers (debug), without secrets
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(crate) log_level: Option<LevelFilter>,

    #[command(flatten)]
    pub(crate) google: GoogleAt,
}

/// For tests. An option, because a variable could be set by whoever sets up an environment; and on loopback only.
#[derive(Debug, Args)]
pub(crate) struct GoogleAt {
    #[arg(long, hide = true, value_name = "URL", value_parser = stand_in)]
    google_stand_in: Option<Google>,
}

impl GoogleAt {
    pub(crate) fn addresses(&self) -> Google {
        self.google_stand_in.clone().unwrap_or_default()
    }
}

fn stand_in(address: &str) -> Result<Google, &'static str> {
    Google::on_loopback(address).ok_or("must be http://127.0.0.1:PORT")
}
