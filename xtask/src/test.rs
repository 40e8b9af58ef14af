//! The one test command: every check in order, ending at the first that fails.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::{command, e2e, nextest, tidy};

/// Announces a step in one line.
pub(crate) fn announce(step: &str) {
    println!("xtask: {step}");
}

/// Runs the checks; `fast` leaves out the end-to-end tests.
pub(crate) fn run(fast: bool) -> Result<()> {
    let project = Project::find()?;
    require_components(&project)?;

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
    nextest::run(&project)?;

    if fast {
        announce("done; the end-to-end tests were left out (--fast)");
        return Ok(());
    }
    e2e::run(&[])?;
    announce("done");
    Ok(())
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
