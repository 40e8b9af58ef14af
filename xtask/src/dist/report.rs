//! The table of what was made, and of what was not.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::Workshop;
use super::platform::{PLATFORMS, Platform};
use crate::command;

const MEGABYTE: u64 = 1_000_000;

/// The largest size of a package, in bytes; installing must stay a matter of seconds.
pub(super) fn limit(name: &str) -> Option<u64> {
    (Path::new(name).extension()? == "whl").then_some(12 * MEGABYTE)
}

/// The largest size of the program, unpacked.
pub(super) const PROGRAM_LIMIT: u64 = 20 * MEGABYTE;

/// Says what was made, with the oldest system that each package runs with.
pub(super) fn print(workshop: &Workshop, made: &Platform, oldest: &BTreeMap<String, String>) -> Result<()> {
    let folder = format!("made in {}", workshop.packages.display());
    println!("\n{folder:<64} {:>10} {:>9} {:>12}", "size", "limit", "runs with");
    for name in workshop.package_names()? {
        let bytes = std::fs::metadata(workshop.packages.join(&name))?.len();
        let limit = limit(&name).map(megabytes).unwrap_or_default();
        let oldest = oldest.get(&name).map(String::as_str).unwrap_or_default();
        println!("{name:<64} {:>10} {limit:>9} {oldest:>12}", megabytes(bytes));
    }
    if let Some(obstacle) = made.obstacle {
        println!("\nnot published: {obstacle}");
        return Ok(());
    }
    println!("target/packaging/crates holds the crates, for `cargo publish --workspace`");
    println!("\nnot made here");
    for platform in PLATFORMS.iter().filter(|platform| *platform != made) {
        let reason = platform.obstacle.unwrap_or("run this on such a machine, or with --target");
        println!("  {:<30} {reason}", platform.triple);
    }
    println!("  {:<30} {}", "container image", container_reason());
    if !workshop.release.has_owner() {
        println!("  {:<30} nobody is named as its publisher yet (docs/releasing.md)", "a release");
    }
    Ok(())
}

fn container_reason() -> &'static str {
    if ["podman", "docker", "buildah"].iter().any(|program| command::on_path(program).is_some()) {
        "build it from the Containerfile, where the tool's engine runs"
    } else {
        "no podman, docker or buildah on PATH; the Containerfile says how"
    }
}

/// As people write sizes: 12.3 MB.
pub(crate) fn megabytes(bytes: u64) -> String {
    let tenths = (bytes * 10).div_ceil(MEGABYTE);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_have_a_limit() {
        assert_eq!(limit("cellbridge-1-py3-none-any.whl"), Some(12_000_000));
        assert_eq!(limit("SHA256SUMS"), None);
        assert_eq!(limit("x.mcpb"), None);
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(megabytes(12_000_000), "12.0 MB");
        assert_eq!(megabytes(12_000_001), "12.1 MB");
        assert_eq!(megabytes(999), "0.1 MB");
    }
}
