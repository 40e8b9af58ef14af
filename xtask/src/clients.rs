//! `cargo xtask clients`: a fixed scenario through real clients, to see what of our replies their models are shown.

use std::ffi::OsString;

use anyhow::{Context as _, Result, bail};

use crate::project::Project;
use crate::{command, provision, test};

/// The clients, with the programs that their packages install.
const CLIENTS: [(&str, &str); 2] = [("Codex", "codex"), ("Claude Code", "claude")];

/// Runs the scenario in each client that this machine can have.
pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    test::announce("building the program (cargo build)");
    project.build(&["--bin", "cellbridge"])?;
    let environment = provision::environment(&project)?;
    let node_modules = provision::model_clients(&project, &environment)
        .context("the clients could not be installed with npm")?;
    let mut arguments: Vec<OsString> = vec![project.built("cellbridge").into()];
    for (name, program) in CLIENTS {
        let file = node_modules.join(".bin").join(program);
        if file.exists() {
            arguments.push(format!("{name}={}", file.display()).into());
        } else {
            println!("xtask: {name} has no build for this machine and is left out");
        }
    }
    if arguments.len() == 1 {
        bail!("no client could be installed");
    }
    test::announce("the scenario in each client (e2e/models)");
    command::run(environment.module(&project, "e2e.models")?.args(arguments))
}
