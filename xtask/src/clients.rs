//! `cargo xtask clients`: a fixed scenario through real clients, to see what of our replies their models are shown.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::project::Project;
use crate::provision::Environment;
use crate::{command, provision, test};

/// The clients, with the programs that their packages install.
const CLIENTS: [(&str, &str); 2] = [("Codex", "codex"), ("Claude Code", "claude")];

/// Runs the scenario in each client that this machine can have.
pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    test::announce("building the program (cargo build)");
    project.build(&["--bin", "cellbridge"])?;
    let environment = provision::environment(&project)?;
    let mut arguments: Vec<OsString> = vec![project.built("cellbridge").into()];
    let clients = provide(&project, &environment)?;
    let inspector = clients.first().map(|(_, client)| ("Inspector", client.with_file_name("mcp-inspector")));
    let all = clients.iter().cloned().chain(inspector);
    arguments.extend(all.map(|(name, file)| format!("{name}={}", file.display()).into()));
    test::announce("the scenario in each client (e2e/models)");
    command::run(environment.module(&project, "e2e.models")?.args(arguments))
}

/// Installs the clients that this machine can have, at least one: their names and programs. `environment` brings Node.
pub(crate) fn provide(project: &Project, environment: &Environment) -> Result<Vec<(&'static str, PathBuf)>> {
    let node_modules = provision::model_clients(project, environment)
        .context("the clients could not be installed with npm")?;
    let files = CLIENTS.map(|(name, program)| (name, node_modules.join(".bin").join(program)));
    let (clients, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, file)| file.exists());
    for (name, _) in others {
        println!("xtask: {name} has no build for this machine and is left out");
    }
    ensure!(!clients.is_empty(), "no client could be installed");
    Ok(clients)
}
