//! `cargo xtask tidy`: the rules of the workspace that neither the compiler nor clippy checks.
//!
//! `clippy.toml` and the lints of the root manifest hold the others: what may not be called, printed or left undone.

mod budget;
mod files;
mod layers;
mod lock;
mod manifests;
mod packages;
mod skill;
mod wording;
mod words;

use std::fmt;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::project::Project;

/// Something that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// A file, with the line if there is one.
    location: String,
    rule: &'static str,
    advice: String,
}

impl Finding {
    fn new(location: impl Into<String>, rule: &'static str, advice: impl Into<String>) -> Self {
        Self { location: location.into(), rule, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.location, self.rule, self.advice)
    }
}

/// Prints every finding and fails if there is one.
pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    let metadata = MetadataCommand::new()
        .current_dir(&project.root)
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .context("cannot read the dependency tree; if Cargo.lock is out of date, run: cargo metadata")?;
    let members = metadata.workspace_packages();
    let mut findings: Vec<Finding> = lock::check(&project).into_iter().collect();
    findings.extend(files::check(&project));
    findings.extend(packages::check(&metadata));
    findings.extend(layers::check(&members));
    for member in &members {
        let manifest = std::fs::read_to_string(&member.manifest_path)?;
        findings.extend(manifests::check(&location(&metadata, member), &member.name, &manifest));
    }
    findings.extend(words::check(&project.root)?);
    findings.extend(skill::check(&project)?);
    findings.extend(budget::check(&project.root)?);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} finding(s), listed above", findings.len());
    }
    println!("tidy: {} crates and {} packages keep the rules", members.len(), metadata.packages.len());
    Ok(())
}

/// A member's manifest, relative to the root.
fn location(metadata: &Metadata, member: &Package) -> String {
    let path = member.manifest_path.strip_prefix(&metadata.workspace_root).unwrap_or(&member.manifest_path);
    path.as_str().replace('\\', "/")
}
