//! Editors and their extensions.

use super::{BRACES, ENV_BRACES, HTTP, STDIO, TIMEOUT_IN_MILLISECONDS, USUAL};
use crate::client::{Client, Http, Secrets, Stdio, WorkingFolder};
use crate::location::{Base, Location, System};

pub(super) const CURSOR: Client = Client {
    id: "cursor",
    name: "Cursor",
    user_files: &[Location::new(Base::Home, ".cursor", "mcp.json")],
    project_file: Some(".cursor/mcp.json"),
    secrets: ENV_BRACES,
    working_folder: WorkingFolder::Variable { name: "${workspaceFolder}", in_user_file: false },
    programs: &["cursor"],
    then: "Turn the server on in Settings → MCP.",
    then_in_project: "Open the project, and turn the server on in Settings → MCP.",
    ..USUAL
};

pub(super) const VS_CODE: Client = Client {
    id: "vscode",
    name: "VS Code",
    user_files: &[
        Location::new(Base::Config, "Code/User", "mcp.json"),
        Location::new(Base::Config, "Code - Insiders/User", "mcp.json"),
    ],
    project_file: Some(".vscode/mcp.json"),
    keys: &["servers"],
    stdio: Stdio { constants: r#"{"type": "stdio"}"#, ..STDIO },
    http: Some(Http { constants: r#"{"type": "http"}"#, ..HTTP }),
    secrets: Secrets::Prompt,
    working_folder: WorkingFolder::Variable { name: "${workspaceFolder}", in_user_file: true },
    programs: &["code", "code-insiders"],
    then: "Open a folder, start the server (command `MCP: List Servers`), and trust it.",
    then_in_project: "Open the project, start the server (command `MCP: List Servers`), and trust it.",
    ..USUAL
};

pub(super) const WINDSURF: Client = Client {
    id: "windsurf",
    name: "Windsurf",
    user_files: &[
        Location::new(Base::Home, ".codeium/windsurf", "mcp_config.json"),
        // Its plugin for JetBrains IDEs.
        Location::new(Base::Home, ".codeium/mcp_config.json", ""),
    ],
    http: Some(Http { url: "serverUrl", ..HTTP }),
    secrets: ENV_BRACES,
    programs: &["windsurf"],
    then: "Refresh the list of servers in Cascade.",
    ..USUAL
};

pub(super) const ZED: Client = Client {
    id: "zed",
    name: "Zed",
    user_files: &[
        Location::on(&[System::Linux, System::MacOs], Base::Xdg, "zed", "settings.json"),
        Location::on(&[System::MacOs, System::Windows], Base::Config, "Zed", "settings.json"),
    ],
    project_file: Some(".zed/settings.json"),
    keys: &["context_servers"],
    working_folder: WorkingFolder::Project,
    programs: &["zed", "zeditor"],
    then: "The server is in the settings of the agent panel; a green dot shows that it runs.",
    then_in_project: "Trust the project. The server is in the settings of the agent panel.",
    ..USUAL
};

pub(super) const ANTIGRAVITY: Client = Client {
    id: "antigravity",
    name: "Antigravity",
    user_files: &[
        Location::new(Base::Home, ".gemini/config", "mcp_config.json"),
        Location::new(Base::Home, ".gemini/antigravity", "mcp_config.json"),
        Location::new(Base::Home, ".gemini/antigravity-cli", "mcp_config.json"),
    ],
    project_file: Some(".agents/mcp_config.json"),
    http: Some(Http { url: "serverUrl", ..HTTP }),
    programs: &["agy", "antigravity"],
    then: "Refresh the list under Manage MCP Servers, or start a new session.",
    then_in_project: "Open the project, and refresh the list under Manage MCP Servers.",
    ..USUAL
};

pub(super) const JUNIE: Client = Client {
    id: "junie",
    name: "Junie",
    user_files: &[Location::new(Base::Home, ".junie", "mcp/mcp.json")],
    project_file: Some(".junie/mcp/mcp.json"),
    http: None,
    programs: &["junie"],
    then: "The server is in Settings → Tools → Junie → MCP Settings.",
    then_in_project: "Open the project. The server is in Settings → Tools → Junie → MCP Settings.",
    ..USUAL
};

pub(super) const CLINE: Client = Client {
    id: "cline",
    name: "Cline",
    user_files: &[
        Location::new(Base::Variable("CLINE_DIR"), "", "data/settings/cline_mcp_settings.json"),
        Location::new(
            Base::Config,
            "Code/User/globalStorage/saoudrizwan.claude-dev",
            "settings/cline_mcp_settings.json",
        ),
        Location::new(Base::Home, ".cline", "data/settings/cline_mcp_settings.json"),
    ],
    http: Some(Http { constants: r#"{"type": "streamableHttp"}"#, ..HTTP }),
    // It gives up after 60 seconds otherwise.
    extras: r#"{"timeout": 600}"#,
    programs: &["cline"],
    then: "The server appears under MCP Servers → Configure.",
    ..USUAL
};

pub(super) const CONTINUE: Client = Client {
    id: "continue",
    name: "Continue",
    // A file of our own, in the form of other clients, which Continue reads there as well.
    user_files: &[Location::new(Base::Home, ".continue", "mcpServers/cellbridge.json")],
    project_file: Some(".continue/mcpServers/cellbridge.json"),
    http: Some(Http { constants: r#"{"type": "http"}"#, ..HTTP }),
    // It makes a secret of each variable.
    secrets: BRACES,
    programs: &["cn"],
    then: "Open Continue in agent mode; it reads its configuration again by itself.",
    then_in_project: "Open the project, and Continue in agent mode.",
    ..USUAL
};

pub(super) const KIRO: Client = Client {
    id: "kiro",
    name: "Kiro",
    user_files: &[Location::new(Base::Home, ".kiro", "settings/mcp.json")],
    project_file: Some(".kiro/settings/mcp.json"),
    secrets: BRACES,
    extras: TIMEOUT_IN_MILLISECONDS,
    programs: &["kiro", "kiro-cli"],
    then: "The server appears under MCP Servers in the Kiro panel.",
    then_in_project: "Open the project. The server appears under MCP Servers in the Kiro panel.",
    ..USUAL
};
