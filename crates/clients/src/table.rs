//! All clients that can be configured. A client is added here, and nowhere else.

mod agents;
mod desktop;
mod editors;

use crate::client::{Client, Command, Format, Http, Secrets, Stdio, WorkingFolder};

/// In the order in which they are listed.
pub const CLIENTS: &[Client] = &[
    agents::CLAUDE_CODE,
    desktop::CLAUDE_DESKTOP,
    agents::CODEX,
    editors::CURSOR,
    editors::VS_CODE,
    agents::COPILOT,
    editors::WINDSURF,
    editors::ZED,
    agents::GEMINI,
    editors::ANTIGRAVITY,
    editors::JUNIE,
    editors::CLINE,
    editors::CONTINUE,
    agents::GOOSE,
    agents::OPENCODE,
    agents::AMP,
    editors::KIRO,
    desktop::LM_STUDIO,
];

/// What most clients have in common.
const USUAL: Client = Client {
    id: "",
    name: "",
    user_files: &[],
    project_file: None,
    format: Format::Json,
    keys: &["mcpServers"],
    stdio: STDIO,
    http: Some(HTTP),
    secrets: Secrets::None,
    extras: "{}",
    working_folder: WorkingFolder::Unrelated,
    programs: &[],
    then: "",
    then_in_project: "",
};
const STDIO: Stdio =
    Stdio { command: Command::Split { program: "command", arguments: "args" }, env: "env", constants: "{}" };
const HTTP: Http = Http { url: "url", constants: "{}", socket: None };

/// `${NAME}`, which stays as it is while the variable is not set.
const BRACES: Secrets = Secrets::Template { required: "${NAME}", optional: "${NAME}" };
const ENV_BRACES: Secrets = Secrets::Template { required: "${env:NAME}", optional: "${env:NAME}" };

/// For clients that give up a call too early: as long as Codex waits for a tool with our entry.
const TIMEOUT_IN_MILLISECONDS: &str = r#"{"timeout": 600000}"#;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::System;

    #[test]
    fn ids_are_unique_and_easy_to_type() {
        let ids: BTreeSet<_> = CLIENTS.iter().map(|client| client.id).collect();
        assert_eq!(ids.len(), CLIENTS.len());
        for id in ids {
            assert!(id.chars().all(|it| it.is_ascii_lowercase() || it == '-'), "{id}");
        }
    }

    #[test]
    fn every_client_can_be_configured_and_detected_on_every_system() {
        for client in CLIENTS {
            for system in System::ALL {
                assert!(client.user_files.iter().any(|it| it.systems.contains(&system)), "{}", client.id);
            }
            for constants in
                [client.extras, client.stdio.constants, client.http.map_or("{}", |it| it.constants)]
            {
                assert!(serde_json::from_str::<serde_json::Map<_, _>>(constants).is_ok(), "{constants}");
            }
            assert!(!client.name.is_empty() && !client.then.is_empty(), "{}", client.id);
            assert_eq!(client.project_file.is_none(), client.then_in_project.is_empty(), "{}", client.id);
        }
    }
}
