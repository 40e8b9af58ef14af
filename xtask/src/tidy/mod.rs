//! `cargo xtask tidy`: the rules of the house, one file for each.
//!
//! A rule is a pure function from [`model::House`] to findings; [`gather`] alone reads the disk and asks Cargo.

mod code;
mod confinement;
mod floors;
mod gather;
mod inheritance;
mod licences;
mod lock;
mod manifest;
mod members;
mod model;
mod origins;
mod paths;
mod places;
mod silence;

use anyhow::{Result, bail};

use crate::project::Project;
use model::{Finding, House};

const RULES: [fn(&House) -> Vec<Finding>; 8] = [
    floors::check,
    confinement::check,
    silence::check,
    places::check,
    inheritance::check,
    licences::check,
    origins::check,
    members::check,
];

/// Prints every finding and fails if there is one.
pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    let mut findings = lock::check(lock::state(&project));
    let house = gather::house(&project)?;
    findings.extend(RULES.iter().flat_map(|rule| rule(&house)));
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} finding(s), listed above", findings.len());
    }
    println!("tidy: {} crates and {} packages keep the rules", house.members.len(), house.packages.len());
    Ok(())
}
