//! The clients that can be configured, as `docs/install.md` lists them.

use clients::{CLIENTS, Client, Scope, ServerEntry, Start, System};

pub(super) fn render() -> String {
    let rows: String = CLIENTS.iter().map(row).collect();
    let sections: String = CLIENTS.iter().map(section).collect();
    format!(
        "\n## Clients\n\n| client | name | the user's file (Linux) | the project's file | over HTTP |\n\
         |---|---|---|---|---|\n{rows}{sections}"
    )
}

fn row(client: &Client) -> String {
    let user = client.usual_file(System::Linux).unwrap_or_default();
    let project = client.project_file.map_or_else(|| "–".to_owned(), |file| format!("`{file}`"));
    let over_http = match client.block(&over_http(), Scope::User) {
        Ok(_) => "yes",
        Err(_) if client.http.is_some() => "without a token",
        Err(_) => "no",
    };
    format!("| {} | `{}` | `{user}` | {project} | {over_http} |\n", client.name, client.id)
}

/// What `install` writes for a client, where, and what follows.
fn section(client: &Client) -> String {
    let language = match client.format {
        clients::Format::Json => "json",
        clients::Format::Toml => "toml",
        clients::Format::Yaml => "yaml",
    };
    let files: String = System::ALL.iter().map(|system| files(client, *system)).collect();
    let entry = client.alone(&started(), Scope::User).unwrap_or_default();
    let project =
        client.project_file.map(|file| format!(" In a project (`{file}`): {}", client.then_in_project));
    format!(
        "\n### {}\n\n`cellbridge install {}`\n\n{files}\n```{language}\n{entry}```\n\nThen: {}{}\n",
        client.name,
        client.id,
        client.then,
        project.unwrap_or_default()
    )
}

fn files(client: &Client, system: System) -> String {
    let name = match system {
        System::Linux => "Linux",
        System::MacOs => "macOS",
        System::Windows => "Windows",
    };
    let files: Vec<_> = client.user_files.iter().filter_map(|it| it.shown(system)).collect();
    format!("- {name}: `{}`\n", files.join("`, or `"))
}

fn started() -> ServerEntry {
    let start = Start::Command {
        program: "/path/to/cellbridge".to_owned(),
        arguments: Vec::new(),
        folder: Some(("--root".to_owned(), "/path/to/folder".to_owned())),
    };
    ServerEntry { start, secret_variables: Vec::new() }
}

fn over_http() -> ServerEntry {
    let start = Start::Url("http://127.0.0.1:4040/mcp".to_owned());
    ServerEntry { start, secret_variables: vec!["CELLBRIDGE_TOKEN".to_owned()] }
}
