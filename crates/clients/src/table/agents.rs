//! Agents on the command line.

use super::{BRACES, HTTP, STDIO, TIMEOUT_IN_MILLISECONDS, USUAL};
use crate::client::{Client, Command, Format, Http, Secrets, Stdio, WorkingFolder};
use crate::location::{Base, Location, System};

const UNIX: &[System] = &[System::Linux, System::MacOs];
const WINDOWS: &[System] = &[System::Windows];

pub(super) const CLAUDE_CODE: Client = Client {
    id: "claude-code",
    name: "Claude Code",
    user_files: &[
        Location::new(Base::Variable("CLAUDE_CONFIG_DIR"), "", ".claude.json"),
        Location::new(Base::Home, ".claude.json", ""),
    ],
    project_file: Some(".mcp.json"),
    http: Some(Http { constants: r#"{"type": "http"}"#, socket: Some("ws"), ..HTTP }),
    secrets: Secrets::Template { required: "${NAME}", optional: "${NAME:-}" },
    // Not `timeout`: it ends a call even while there is progress. Not `alwaysLoad`: it would put all tools into each
    // first request, and our tools ask themselves for what is needed there.
    extras: "{}",
    working_folder: WorkingFolder::Project,
    programs: &["claude"],
    then: "Start a new session. `/mcp` shows the server.",
    then_in_project: "Start a new session in the project and approve the server. `/mcp` shows it.",
    ..USUAL
};

pub(super) const CODEX: Client = Client {
    id: "codex",
    name: "Codex",
    user_files: &[
        Location::new(Base::Variable("CODEX_HOME"), "", "config.toml"),
        Location::new(Base::Home, ".codex", "config.toml"),
    ],
    project_file: Some(".codex/config.toml"),
    format: Format::Toml,
    keys: &["mcp_servers"],
    // A token in any entry makes Codex refuse the whole file.
    secrets: Secrets::Keys { token: "bearer_token_env_var", inherited: "env_vars" },
    // The default of 60 seconds ends calls that wait for a run.
    extras: r#"{"tool_timeout_sec": 600}"#,
    working_folder: WorkingFolder::Project,
    programs: &["codex"],
    then: "Start a new session. `codex mcp list` shows the server.",
    then_in_project: "Trust the project in Codex, and start a new session in it. `codex mcp list` shows the server.",
    ..USUAL
};

pub(super) const COPILOT: Client = Client {
    id: "copilot",
    name: "Copilot CLI",
    user_files: &[
        Location::new(Base::Variable("COPILOT_HOME"), "", "mcp-config.json"),
        Location::new(Base::Home, ".copilot", "mcp-config.json"),
    ],
    // It also reads `.mcp.json`, which is where Claude Code's entry is.
    project_file: Some(".github/mcp.json"),
    stdio: Stdio { constants: r#"{"type": "local", "tools": ["*"]}"#, ..STDIO },
    http: Some(Http { constants: r#"{"type": "http", "tools": ["*"]}"#, ..HTTP }),
    working_folder: WorkingFolder::Project,
    programs: &["copilot"],
    then: "Start a new session. `/mcp show` lists the server.",
    then_in_project: "Start a new session in the project. `/mcp show` lists the server.",
    ..USUAL
};

pub(super) const GEMINI: Client = Client {
    id: "gemini",
    name: "Gemini CLI",
    user_files: &[Location::new(Base::Home, ".gemini/settings.json", "")],
    project_file: Some(".gemini/settings.json"),
    // Under `url` it would speak the older SSE transport.
    http: Some(Http { url: "httpUrl", ..HTTP }),
    secrets: BRACES,
    extras: TIMEOUT_IN_MILLISECONDS,
    working_folder: WorkingFolder::Project,
    programs: &["gemini"],
    then: "Start a new session. `/mcp` shows the server.",
    then_in_project: "Trust the folder, and start a new session in it. `/mcp` shows the server.",
    ..USUAL
};

pub(super) const GOOSE: Client = Client {
    id: "goose",
    name: "Goose",
    user_files: &[
        Location::on(UNIX, Base::Xdg, "goose", "config.yaml"),
        Location::on(WINDOWS, Base::Config, "Block/goose", "config/config.yaml"),
    ],
    format: Format::Yaml,
    keys: &["extensions"],
    stdio: Stdio {
        command: Command::Split { program: "cmd", arguments: "args" },
        env: "envs",
        constants: r#"{"name": "cellbridge", "type": "stdio"}"#,
    },
    http: Some(Http {
        url: "uri",
        constants: r#"{"name": "cellbridge", "type": "streamable_http"}"#,
        ..HTTP
    }),
    extras: r#"{"enabled": true, "description": "Jupyter notebooks", "timeout": 600}"#,
    working_folder: WorkingFolder::Project,
    programs: &["goose"],
    then: "Start a new session.",
    ..USUAL
};

pub(super) const OPENCODE: Client = Client {
    id: "opencode",
    name: "opencode",
    user_files: &[
        Location::new(Base::Xdg, "opencode", "opencode.json"),
        Location::new(Base::Xdg, "opencode", "opencode.jsonc"),
    ],
    project_file: Some("opencode.json"),
    keys: &["mcp"],
    stdio: Stdio {
        command: Command::Joined("command"),
        env: "environment",
        constants: r#"{"type": "local"}"#,
    },
    // Without `oauth: false` it takes a refused token as a request to log in.
    http: Some(Http { constants: r#"{"type": "remote", "oauth": false}"#, ..HTTP }),
    secrets: Secrets::Template { required: "{env:NAME}", optional: "{env:NAME}" },
    extras: r#"{"enabled": true}"#,
    working_folder: WorkingFolder::Project,
    programs: &["opencode"],
    then: "Start a new session. `opencode mcp list` shows the server.",
    then_in_project: "Start a new session in the project. `opencode mcp list` shows the server.",
    ..USUAL
};

pub(super) const AMP: Client = Client {
    id: "amp",
    name: "Amp",
    user_files: &[
        Location::on(UNIX, Base::Xdg, "amp", "settings.json"),
        Location::on(WINDOWS, Base::Config, "amp", "settings.json"),
    ],
    project_file: Some(".amp/settings.json"),
    // One key with a dot.
    keys: &["amp.mcpServers"],
    secrets: BRACES,
    working_folder: WorkingFolder::Project,
    programs: &["amp"],
    then: "Start a new session.",
    then_in_project: "Start a new session in the project, and approve the server (`amp mcp approve cellbridge`).",
    ..USUAL
};
