//! The clients that can be configured: a table in `docs/install.md`, and a page for each in `docs/clients`.

mod page;

use clients::{Base, CLIENTS, Client, Location, Scope, ServerEntry, Start, System};

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
    let user = usual.find_map(|it| shown(it, System::Linux)).unwrap_or_default();
    let project = client.project_file.map_or_else(|| "–".to_owned(), |file| format!("`{file}`"));
    let over_http = match client.block(&running(&["CELLBRIDGE_TOKEN"]), Scope::User) {
        Ok(_) => "yes",
        Err(_) if client.http.is_some() => "without a token",
        Err(_) => "no",
    };
    format!("| [{name}](clients/{id}.md) | `{id}` | `{user}` | {project} | {over_http} |\n")
}

/// A file as a person writes it: `~/.codex/config.toml`.
fn shown(location: &Location, system: System) -> Option<String> {
    let base = match (location.base, system) {
        _ if !location.systems.contains(&system) => return None,
        (Base::Variable(name), System::Windows) => format!("%{name}%"),
        (Base::Variable(name), _) => format!("${name}"),
        (Base::Home, System::Windows) => "%USERPROFILE%".to_owned(),
        (Base::Xdg, System::Windows) => r"%USERPROFILE%\.config".to_owned(),
        (Base::Home, _) => "~".to_owned(),
        (Base::Config, System::MacOs) => "~/Library/Application Support".to_owned(),
        (Base::Config, System::Windows) => "%APPDATA%".to_owned(),
        (Base::Config, System::Linux) | (Base::Xdg, _) => "~/.config".to_owned(),
    };
    let parts = [&*base, location.folder, location.file].into_iter().filter(|part| !part.is_empty());
    let shown = parts.collect::<Vec<_>>().join("/");
    Some(if system == System::Windows { shown.replace('/', "\\") } else { shown })
}

/// A server that is running, with the variable of its token.
fn running(variables: &[&str]) -> ServerEntry {
    let start = Start::Url("http://127.0.0.1:4040/mcp".to_owned());
    ServerEntry { start, secret_variables: variables.iter().map(|name| (*name).to_owned()).collect() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clients::Machine;

    use super::*;

    #[test]
    fn files_are_where_they_are_said_to_be() {
        let home = PathBuf::from("/home/ada");
        let variables = [("AppData".to_owned(), home.join("AppData/Roaming").into())].into();
        let machine = Machine { system: System::Windows, home: home.clone(), variables };
        for location in CLIENTS.iter().flat_map(|client| client.user_files) {
            let Some(shown) = shown(location, System::Windows) else { continue };
            let path = shown.replace("%APPDATA%", r"%USERPROFILE%\AppData\Roaming");
            // Those that begin at another variable exist only where that is set.
            let path = path.strip_prefix(r"%USERPROFILE%\").map(|path| path.replace('\\', "/"));
            assert_eq!(location.resolve(&machine), path.map(|path| home.join(path)), "{shown}");
        }
    }
}
