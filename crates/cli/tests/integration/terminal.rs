//! What commands print holds nothing that controls a terminal, whatever notebooks, names and configurations contain.
#![cfg(unix)]

use std::fs;

use anyhow::Result;

use crate::exit_status::command;

/// Erases the line, goes to its beginning, turns the text round.
pub(crate) const CONTROLS: &str = "\u{1b}[2K\r\u{202e}\u{9b}1A";

/// Fails if a terminal would do more than show the text.
#[track_caller]
pub(crate) fn assert_only_shows(printed: &[u8]) {
    let text = str::from_utf8(printed).unwrap_or("not UTF-8: \u{1b}");
    let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
    assert!(!text.contains(hidden), "{text:?}");
}

#[test]
fn names_and_configurations_are_made_visible() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let name = format!("{CONTROLS}\n.ipynb");
    fs::write(folder.path().join(&name), format!("{{\"cells\": \"{}\"}}", CONTROLS.escape_default()))?;
    // JSON escapes only the first two.
    let start =
        serde_json::json!({ "mcpServers": { "cellbridge": { "command": CONTROLS, "args": [CONTROLS] } } });
    fs::write(folder.path().join(".mcp.json"), start.to_string())?;
    let absent = format!("absent{CONTROLS}.ipynb");
    for arguments in [
        &["run", &name][..],
        &["run", &absent],
        &["verify", &name, &absent],
        &["verify", &name, "--json"],
        &["diff", &name],
        &["history", &absent],
        &["undo", &name, "--preview"],
        &["status"],
        &["status", "--json"],
        &["install", "claude-code", "--project", "--dry-run"],
        &["kernels", "stop", CONTROLS],
    ] {
        let printed = command(folder.path(), arguments).env("HOME", folder.path()).output()?;
        let all = [printed.stdout, printed.stderr].concat();
        assert_only_shows(&all);
        let is_about_it = all.windows(6).any(|part| part == b"\\u{1b}" || part == b"\\u001b");
        assert!(is_about_it, "{arguments:?}: {}", String::from_utf8_lossy(&all));
    }
    Ok(())
}
