//! The page of a client.

use std::fmt::Write as _;

use clients::{Client, Format, Scope, Secrets, ServerEntry, Start, System, WorkingFolder};

use super::{running, shown};

const HEADER: &str = "<!-- Generated: run `cargo xtask docs`. -->\n\n";

pub(super) fn render(client: &Client) -> String {
    let Client { id, name, then, .. } = client;
    let mut page = format!(
        "{HEADER}# {name}\n\n```sh\ncellbridge install {id}\n```\n\n{then} Then ask, for example: *Create hello.ipynb, plot a sine curve \
         in it, and run it.*\n\n{}\n",
        working_folder(client)
    );
    if client.project_file.is_some() {
        let _ = write!(
            page,
            "\nFor everybody who works in a project, in its folder:\n\n```sh\ncellbridge install {id} --project\n```\n\n{}\n",
            client.then_in_project
        );
    }
    let _ = write!(page, "\n## What it writes\n\n{}{}", files(client), entry(client, &started(&[], &[])));
    let jupyter = started(&["--jupyter-url", "http://localhost:8888/"], &["JUPYTER_TOKEN"]);
    let _ = write!(
        page,
        "\n## With a Jupyter server\n\n```sh\ncellbridge install {id} --jupyter http://localhost:8888\n```\n\n{}\n{}",
        token(client),
        entry(client, &jupyter)
    );
    let _ = write!(page, "\n## Over HTTP\n\n{}", over_http(client));
    let _ = write!(
        page,
        "\n## Remove\n\n```sh\ncellbridge uninstall {id}\n```\n\nMore: [Install in a client](../install.md). It does not \
         work: [Troubleshooting](../troubleshooting.md#the-client-shows-no-tools).\n"
    );
    page
}

fn working_folder(client: &Client) -> &'static str {
    match client.working_folder {
        WorkingFolder::Project => "Notebooks are those of the folder in which you work.",
        WorkingFolder::Variable { in_user_file: true, .. } => {
            "Notebooks are those of the folder that is open: the entry names it by a variable."
        }
        WorkingFolder::Variable { in_user_file: false, .. } => {
            "Notebooks are those of the folder in which you call `install`. A project's entry names the folder that is open."
        }
        WorkingFolder::Unrelated => {
            "Notebooks are those of the folder in which you call `install`, because the client starts servers in \
             another folder."
        }
    }
}

/// Where the token of a Jupyter server is, if `JUPYTER_TOKEN` is set.
fn token(client: &Client) -> String {
    match client.secrets {
        Secrets::Prompt => {
            format!(
                "If `JUPYTER_TOKEN` is set, {} asks for the token once. It is not written into the file.",
                client.name
            )
        }
        Secrets::None => format!(
            "Set `JUPYTER_TOKEN` to the server's token where {} starts. It may not pass variables on to servers; a \
             server on this machine is found without it.",
            client.name
        ),
        Secrets::Template { .. } | Secrets::Keys { .. } => {
            "If `JUPYTER_TOKEN` is set, the entry names that variable, never the token.".to_owned()
        }
    }
}

/// A table of the files, one row for each system.
fn files(client: &Client) -> String {
    let mut table = "| | file |\n|---|---|\n".to_owned();
    for (system, name) in [(System::Linux, "Linux"), (System::MacOs, "macOS"), (System::Windows, "Windows")] {
        let files: Vec<_> = client.user_files.iter().filter_map(|it| shown(it, system)).collect();
        let _ = writeln!(table, "| {name} | `{}` |", files.join("`, or `"));
    }
    if let Some(file) = client.project_file {
        let _ = writeln!(table, "| a project | `{file}` |");
    }
    table
}

/// What the file holds if there was nothing in it.
fn entry(client: &Client, entry: &ServerEntry) -> String {
    let language = match client.format {
        Format::Json => "json",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
    };
    let text = client.alone(entry, Scope::User).unwrap_or_default();
    format!("\n```{language}\n{text}```\n")
}

fn over_http(client: &Client) -> String {
    let install = "cellbridge --transport streamable-http";
    let id = client.id;
    let command = |options: &str| {
        format!(
            "```sh\n{install}{options}\ncellbridge install {id} --http http://127.0.0.1:4040/mcp{options}\n```\n"
        )
    };
    let with_token = running(&["CELLBRIDGE_TOKEN"]);
    match client.block(&with_token, Scope::User) {
        Ok(_) => format!(
            "With the token in the variable `CELLBRIDGE_TOKEN`, for the server and for the client:\n\n{}{}",
            command(""),
            entry(client, &with_token)
        ),
        Err(reason) if client.http.is_none() => format!("{reason}.\n"),
        Err(reason) => format!(
            "{reason}, so the server must need none:\n\n{}{}",
            command(" --no-token"),
            entry(client, &running(&[]))
        ),
    }
}

fn started(arguments: &[&str], variables: &[&str]) -> ServerEntry {
    let owned = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    let start = Start::Command {
        program: "/path/to/cellbridge".to_owned(),
        arguments: owned(arguments),
        folder: Some(("--root".to_owned(), "/path/to/folder".to_owned())),
    };
    ServerEntry { start, secret_variables: owned(variables) }
}
