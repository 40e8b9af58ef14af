//! Desktop applications without a project.

use super::USUAL;
use crate::client::Client;
use crate::location::{Base, Location};

pub(super) const CLAUDE_DESKTOP: Client = Client {
    id: "claude-desktop",
    name: "Claude Desktop",
    user_files: &[Location::new(Base::Config, "Claude", "claude_desktop_config.json")],
    http: None,
    then: "Quit Claude Desktop and start it again. The server is in Settings → Developer.",
    ..USUAL
};

pub(super) const LM_STUDIO: Client = Client {
    id: "lm-studio",
    name: "LM Studio",
    user_files: &[
        Location::new(Base::Home, ".lmstudio", "mcp.json"),
        Location::new(Base::Home, ".cache/lm-studio", "mcp.json"),
    ],
    programs: &["lms"],
    then: "Turn the server on in a chat, under Integrations.",
    ..USUAL
};
