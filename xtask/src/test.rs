//! The one test command: every check, ending at the first that fails.

use std::process::Stdio;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::project::Project;
use crate::{command, docs, e2e, nextest, provision, site, tidy};

/// Announces a step in one line.
pub(crate) fn announce(step: &str) {
    println!("xtask: {step}");
}

/// Runs the checks; `fast` leaves out the end-to-end tests.
pub(crate) fn run(fast: bool) -> Result<()> {
    let project = Project::find()?;
    require_components(&project)?;
    if fast {
        check(&project)?;
        announce("done; the end-to-end tests were left out (--fast)");
        return Ok(());
    }
    // Downloading takes little of the processor, compiling little else; on a warm machine neither takes long.
    announce("provisioning beside the checks (Python, Node and the browser for the end-to-end tests)");
    let environments = thread::scope(|scope| {
        let provisioning = scope.spawn(|| provision::environments(&project).context("provisioning"));
        check(&project)?;
        provisioning.join().map_err(|_| anyhow!("provisioning panicked"))?
    })?;
    announce("the site of the documents (Sphinx)");
    site::build(&project)?;
    e2e::run_in(&project, environments, &[], &[])?;
    announce("done");
    Ok(())
}

/// All checks but the end-to-end tests.
fn check(project: &Project) -> Result<()> {
    announce("formatting (cargo fmt --all --check)");
    let formatted = command::run(project.cargo().args(["fmt", "--all", "--check"]));
    formatted.map_err(|error| error.context("formatting: run `cargo fmt --all`"))?;

    announce("lints (cargo clippy, warnings denied)");
    command::run(project.cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))?;

    announce("tidy (the rules of the house)");
    tidy::run()?;

    announce("unit and integration tests (cargo nextest run)");
    nextest::run(project)?;

    announce("the documents (docs/tools.md, links)");
    // The integration tests have built the program.
    docs::check(project)
}

/// Toolchains installed with the minimal profile come without these two.
fn require_components(project: &Project) -> Result<()> {
    for subcommand in ["fmt", "clippy"] {
        let answer = project
            .cargo()
            .args([subcommand, "--version"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !answer.is_ok_and(|status| status.success()) {
            bail!("`cargo {subcommand}` is missing; run: rustup component add rustfmt clippy");
        }
    }
    Ok(())
}
