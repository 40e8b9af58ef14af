//! The `.mcpb` bundle: the program with a manifest, which Claude Desktop and others install with one click.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::Workshop;
use super::archive::{Entry, write_zip};
use super::platform::Platform;
use crate::docs;

/// The folder of the program.
const FOLDER: &str = "server";

pub(super) fn make(workshop: &Workshop, platform: &Platform, program: &Path) -> Result<()> {
    let tools = docs::tools(&workshop.project)?;
    let manifest = manifest(workshop, platform, &tools);
    let root = &workshop.project.root;
    let mut entries = [
        Entry::new("manifest.json", 0o644, format!("{manifest:#}\n").into_bytes()),
        Entry::from_file(program, &format!("{FOLDER}/{}", platform.program()), 0o755)?,
        Entry::from_file(&root.join("crates/mcp/src/icon.png"), "icon.png", 0o644)?,
        Entry::from_file(&root.join("LICENSE-APACHE"), "LICENSE-APACHE", 0o644)?,
        Entry::from_file(&root.join("LICENSE-MIT"), "LICENSE-MIT", 0o644)?,
    ];
    write_zip(&workshop.packages.join(platform.bundle()), &mut entries)
}

fn manifest(workshop: &Workshop, platform: &Platform, tools: &[(String, String)]) -> Value {
    let release = &workshop.release;
    let program = format!("{FOLDER}/{}", platform.program());
    let tools: Vec<Value> =
        tools.iter().map(|(name, title)| json!({ "name": name, "description": title })).collect();
    json!({
        "manifest_version": "0.3",
        "name": "cellbridge",
        "display_name": "Cellbridge",
        "version": release.version,
        "description": "Jupyter notebooks: read, edit and run them in a folder, on a Jupyter server or in Google Colab",
        "long_description": "Gives the agent a notebook with a live kernel. An edit is on disk when the tool answers, and you \
                             can keep the same notebook open and watch.",
        "author": { "name": "The Cellbridge authors", "url": release.repository() },
        "repository": { "type": "git", "url": release.repository() },
        "homepage": release.repository(),
        "license": "MIT OR Apache-2.0",
        "icon": "icon.png",
        "keywords": ["jupyter", "notebook", "colab", "data"],
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {
                "command": format!("${{__dirname}}/{program}"),
                "args": ["--root", "${user_config.folder}"],
                "env": {
                    "JUPYTER_URL": "${user_config.jupyter_url}",
                    "JUPYTER_TOKEN": "${user_config.jupyter_token}",
                    "CELLBRIDGE_READ_ONLY": "${user_config.read_only}",
                },
            },
        },
        "tools": tools,
        // Places that connect later bring further tools.
        "tools_generated": true,
        "compatibility": { "platforms": [platform.system] },
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder",
                "description": "The folder with your notebooks. Nothing outside it is read or written.",
                "required": true,
            },
            // The empty defaults matter: a client leaves the variable's name in place of a value that it does not have.
            "jupyter_url": {
                "type": "string",
                "title": "Jupyter server",
                "description": "The address of a Jupyter server to work on, as your browser shows it. Empty: the folder.",
                "required": false,
                "default": "",
            },
            "jupyter_token": {
                "type": "string",
                "title": "Token of the Jupyter server",
                "description": "Not needed for a server on this computer.",
                "required": false,
                "sensitive": true,
                "default": "",
            },
            "read_only": {
                "type": "boolean",
                "title": "Read only",
                "description": "Agents can read notebooks, but neither change nor run them.",
                "required": false,
                "default": false,
            },
        },
    })
}
