//! `cellbridge doctor`: prints what agents will need here, and exits with 1 if something of it cannot work.

use std::process::ExitCode;

use connection::NetworkTimeout;
use doctor::{Given, Options, SILENCE_SECONDS, report};
use environments::ProcessEnv;

use crate::args;
use crate::jupyter::sources::{reach, secrets_of, source_beside};
use crate::process::browser;
use terminal::{say, say_json};

pub(crate) async fn run(options: args::Doctor) -> anyhow::Result<ExitCode> {
    let args::Doctor { json, fix, folder, tab_port, no_browser, google } = options;
    let args::InFolder { root, server, kernel_env } = folder;
    let server = given(&server);
    let process_env = ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() };
    let (current_folder, browser) = (std::env::current_dir().ok(), browser(no_browser));
    let google = google.addresses();
    let options =
        Options { process_env, current_folder, root, kernel_env, tab_port, browser, server, google, fix };
    let report = Box::pin(report(options)).await?;
    if json {
        say_json(&report.findings)?;
    } else {
        say(&report.text())?;
    }
    Ok(if report.has_error() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn given(server: &args::JupyterServer) -> anyhow::Result<Given> {
    let timeout = NetworkTimeout::from_seconds(SILENCE_SECONDS).map_err(anyhow::Error::msg)?;
    let source = source_beside(server)?;
    let secrets = source.iter().flat_map(secrets_of).collect();
    Ok(Given { source, secrets, reach: reach(server.ca_file.clone(), timeout) })
}
