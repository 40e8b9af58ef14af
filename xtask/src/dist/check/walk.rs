//! A newcomer with the two commands of the README, and the real clients.

use std::path::Path;

use anyhow::Result;

use super::super::Workshop;
use super::clean::Clean;
use crate::{clients, command, provision};

/// Installs `wheel` and then the entries of all clients that this machine can have; each of them runs a cell.
pub(super) fn run(workshop: &Workshop, wheel: &Path, clean: &Clean) -> Result<()> {
    let project = &workshop.project;
    let tests = provision::environment(project)?;
    let mut programs = clients::provide(project, &tests)?;
    programs.push(("Node", tests.programs.join("node")));
    programs.push(("uv", workshop.uv()));
    let mut walk = tests.module(project, "e2e.models.walk")?;
    walk.arg(&clean.home).arg(&clean.path).arg(wheel);
    command::run(walk.args(programs.iter().map(|(name, file)| format!("{name}={}", file.display()))))
}
