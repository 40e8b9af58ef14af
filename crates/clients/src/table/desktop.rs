//! Desktop applications without a project.

use super::{HTTP, SERVERS, STDIO};
use crate::client::{Client, Format, Secrets, WorkingFolder};
use crate::location::{Base, Location};

pub(super) const CLAUDE_DESKTOP: Client = Client {
    id: "claude-desktop",
    name: "Claude Desktop",
    user_files: &[Location::new(Base::Config, "Claude/claude_desktop_config.json")],
    project_file: None,
    format: Format::Json,
    keys: SERVERS,
    stdio: STDIO,
    http: None,
    secrets: Secrets::None,
    extras: &[],
    working_folder: WorkingFolder::Unrelated,
    folders: &[Location::new(Base::Config, "Claude")],
    programs: &[],
    then: "Quit Claude Desktop and start it again. The server is in Settings → Developer.",
    then_in_project: "",
};

pub(super) const LM_STUDIO: Client = Client {
    id: "lm-studio",
    name: "LM Studio",
    user_files: &[
        Location::new(Base::Home, ".lmstudio/mcp.json"),
        Location::new(Base::Home, ".cache/lm-studio/mcp.json"),
    ],
    project_file: None,
    format: Format::Json,
    keys: SERVERS,
    stdio: STDIO,
    http: Some(HTTP),
    secrets: Secrets::None,
    extras: &[],
    working_folder: WorkingFolder::Unrelated,
    folders: &[Location::new(Base::Home, ".lmstudio"), Location::new(Base::Home, ".cache/lm-studio")],
    programs: &["lms"],
    then: "Turn the server on in a chat, under Integrations.",
    then_in_project: "",
};
