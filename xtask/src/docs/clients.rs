//! The clients that can be configured: a table in `docs/install.md`, and a page for each in `docs/clients`.

mod page;

use clients::{Base, CLIENTS, Client, Scope, ServerEntry, Start, System};

/// The folder of the pages.
pub(super) const FOLDER: &str = "docs/clients";

/// Each page's path below the root, and its text.
pub(super) fn pages() -> impl Iterator<Item = (String, String)> {
    CLIENTS.iter().map(|client| (format!("{FOLDER}/{}.md", client.id), page::render(client)))
}

pub(super) fn table() -> String {
    let rows: String = CLIENTS.iter().map(row).collect();
    format!(
        "\n## Clients\n\n| client | for `install` | the user's file (Linux) | the project's file | over HTTP |\n\
         |---|---|---|---|---|\n{rows}"
    )
}

fn row(client: &Client) -> String {
    let Client { id, name, .. } = client;
    // Unless a variable moves it.
    let mut usual = client.user_files.iter().filter(|it| !matches!(it.base, Base::Variable(_)));
    let user = usual.find_map(|it| it.shown(System::Linux)).unwrap_or_default();
    let project = client.project_file.map_or_else(|| "–".to_owned(), |file| format!("`{file}`"));
    let over_http = match client.block(&running(&["CELLBRIDGE_TOKEN"]), Scope::User) {
        Ok(_) => "yes",
        Err(_) if client.http.is_some() => "without a token",
        Err(_) => "no",
    };
    format!("| [{name}](clients/{id}.md) | `{id}` | `{user}` | {project} | {over_http} |\n")
}

/// A server that is running, with the variable of its token.
fn running(variables: &[&str]) -> ServerEntry {
    let start = Start::Url("http://127.0.0.1:4040/mcp".to_owned());
    ServerEntry { start, secret_variables: variables.iter().map(|name| (*name).to_owned()).collect() }
}
