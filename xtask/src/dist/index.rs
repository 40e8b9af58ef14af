//! What is written about the finished packages: their checksums, and the entry in the registry of MCP servers.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Workshop;
use super::archive::checksum;

pub(super) const CHECKSUMS: &str = "SHA256SUMS";
pub(super) const REGISTRY_ENTRY: &str = "server.json";

const DESCRIPTION: &str =
    "Jupyter notebooks for agents: read, edit and run them in a folder, on a server or in Colab";
/// The registry's limit.
const LONGEST_DESCRIPTION: usize = 100;
const _: () = assert!(DESCRIPTION.len() <= LONGEST_DESCRIPTION);

/// Writes both files over all packages that are there, of whatever machine.
pub(super) fn write(workshop: &Workshop) -> Result<()> {
    let mut packages: Vec<(String, String)> = Vec::new();
    for name in workshop.package_names()? {
        if name != CHECKSUMS && name != REGISTRY_ENTRY {
            let checksum = checksum(&workshop.packages.join(&name))?;
            packages.push((name, checksum));
        }
    }
    ensure!(!packages.is_empty(), "{} is empty: run `cargo xtask dist`", workshop.packages.display());
    let mut sums = String::new();
    for (name, checksum) in &packages {
        let _ = writeln!(sums, "{checksum}  {name}");
    }
    std::fs::write(workshop.packages.join(CHECKSUMS), sums)?;
    let entry = registry_entry(workshop, &packages);
    std::fs::write(workshop.packages.join(REGISTRY_ENTRY), format!("{entry:#}\n"))?;
    Ok(())
}

fn registry_entry(workshop: &Workshop, files: &[(String, String)]) -> Value {
    let release = &workshop.release;
    let mut packages = vec![json!({
        "registryType": "pypi",
        "identifier": "cellbridge",
        "version": release.version,
        "runtimeHint": "uvx",
        "transport": { "type": "stdio" },
        "environmentVariables": [
            { "name": "JUPYTER_URL", "description": "A Jupyter server to work on; without it, the folder" },
            { "name": "JUPYTER_TOKEN", "description": "Its token", "isSecret": true },
            { "name": "CELLBRIDGE_READ_ONLY", "description": "Agents can only read", "format": "boolean" },
        ],
    })];
    let bundles = files.iter().filter(|(name, _)| Path::new(name).extension().is_some_and(|it| it == "mcpb"));
    packages.extend(bundles.map(|(name, checksum)| {
        json!({
            "registryType": "mcpb",
            "identifier": format!("{}/{name}", release.downloads()),
            "version": release.version,
            "fileSha256": checksum,
            "transport": { "type": "stdio" },
        })
    }));
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": release.server_name(),
        "title": "Cellbridge",
        "description": DESCRIPTION,
        "version": release.version,
        "repository": { "url": release.repository(), "source": "github" },
        "packages": packages,
    })
}
