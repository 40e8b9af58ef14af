//! The words that give an agent the tools of the demo.

use std::path::Path;

use clients::{Client, Scope, ServerEntry, Start, System};

/// Clients whose configuration is shown; each stands for others of the same form.
const SHOWN: [&str; 4] = ["claude-code", "codex", "cursor", "vscode"];

/// The command that configures clients, and the lines to paste for some of them.
pub(crate) fn lines(program: &Path, folder: &Path) -> String {
    let (program, folder) = (program.display().to_string(), folder.display().to_string());
    let entry = ServerEntry {
        start: Start::Command {
            program: program.clone(),
            arguments: Vec::new(),
            folder: Some(("--root".to_owned(), folder)),
        },
        secret_variables: Vec::new(),
    };
    let blocks = SHOWN.iter().filter_map(|id| {
        let client = Client::named(id)?;
        let file = client.usual_file(System::current())?;
        let block = client.alone(&entry, Scope::User).ok()?;
        Some(format!("\n\n{} ({file}):\n{}", client.name, indented(&block)))
    });
    format!(
        "\nGive your agent the same tools:\n\n  {} install\n\nOr paste this into its configuration:{}",
        quoted(&program),
        blocks.collect::<String>()
    )
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
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
    #[cfg(target_os = "linux")]
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
