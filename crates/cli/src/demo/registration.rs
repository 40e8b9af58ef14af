//! How to register the program with an agent.

use std::path::Path;

use serde_json::{Value, json};

/// Lines to paste into the configuration of the usual clients. A client that starts servers in the project's folder
/// needs no `--root`.
pub(super) fn lines(program: &Path, folder: &Path) -> String {
    let (program, folder) = (program.display().to_string(), folder.display().to_string());
    let quoted = quoted(&program);
    let anywhere =
        json!({ "mcpServers": { "cellbridge": { "command": program, "args": ["--root", folder] } } });
    let code = json!({ "type": "stdio", "command": program, "args": ["--root", "${workspaceFolder}"] });
    let code = json!({ "servers": { "cellbridge": code } });
    format!(
        "\nGive your agent the same tools:\n\n\
         Claude Code, in the folder of your notebooks:\n  claude mcp add cellbridge -- {quoted}\n\n\
         Codex:\n  codex mcp add cellbridge -- {quoted}\n\n\
         Cursor (.cursor/mcp.json) and Claude Desktop (claude_desktop_config.json):\n{}\n\n\
         VS Code (.vscode/mcp.json):\n{}",
        indented(&anywhere),
        indented(&code)
    )
}

fn indented(value: &Value) -> String {
    format!("{value:#}").lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A path as one word of a shell's command line.
fn quoted(path: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/\\:._-+@%".contains(it);
    match path {
        plain if plain.chars().all(is_plain) && (cfg!(windows) || !plain.contains('\\')) => plain.to_owned(),
        other if cfg!(windows) => format!("\"{other}\""),
        other => format!("'{}'", other.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_name_the_program_and_the_folder() {
        insta::assert_snapshot!(lines(Path::new("/opt/bin/cellbridge"), Path::new("/home/ada/project")));
    }

    #[test]
    #[cfg(unix)]
    fn paths_survive_a_shell() {
        assert_eq!(quoted("/opt/cellbridge"), "/opt/cellbridge");
        assert_eq!(quoted("/my tools/it's"), r"'/my tools/it'\''s'");
    }
}
