//! What clients are to start, from the options of `install`.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use clap::Parser as _;
use clients::{Client, Machine, Scope, ServerEntry, Start, WorkingFolder, has_secret_parts, is_secret_name};
use reqwest::Url;
use rest::Address;

use super::program::stable_command;
use crate::args::{Cli, Install};

const JUPYTER_TOKEN: &str = "JUPYTER_TOKEN";

pub(super) struct Asked {
    pub(super) entry: ServerEntry,
    /// What to ask an agent first.
    pub(super) first_request: &'static str,
    notes: Vec<String>,
}

/// The server that the options describe.
pub(super) fn entry(
    options: &Install,
    machine: &Machine,
    folder: &Path,
    scope: Scope,
) -> anyhow::Result<Asked> {
    match &options.http {
        Some(url) => running(url, options),
        None => started(options, machine, folder, scope),
    }
}

fn running(url: &str, options: &Install) -> anyhow::Result<Asked> {
    let mut url = Url::parse(url).context("--http takes an address such as http://127.0.0.1:4040/mcp")?;
    ensure!(
        ["http", "https", "ws", "wss"].contains(&url.scheme()),
        "--http takes an address that starts with http:, https:, ws: or wss:"
    );
    ensure!(url.username().is_empty() && url.password().is_none(), "remove the password from the address");
    let other = url.query_pairs().find(|(name, _)| name != "token").map(|(name, _)| name.into_owned());
    if let Some(name) = other {
        bail!("the address would be written into files that others may read; remove its parameter {name:?}");
    }
    url.set_query(None);
    url.set_fragment(None);
    let variable = (!options.no_token).then(|| options.token_variable.clone());
    let note = variable.as_ref().map(|name| {
        format!("Set {name} to the server's token in the environment of the clients; their configurations only name \
         the variable.")
    });
    Ok(Asked {
        entry: ServerEntry {
            start: Start::Url(url.into()),
            secret_variables: variable.into_iter().collect(),
        },
        first_request: "“List the notebooks, and run the first one.”",
        notes: note.into_iter().collect(),
    })
}

fn started(options: &Install, machine: &Machine, folder: &Path, scope: Scope) -> anyhow::Result<Asked> {
    let (mut arguments, mut secrets, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    if options.colab {
        arguments.push("colab".to_owned());
    }
    if options.read_only {
        arguments.push("--read-only".to_owned());
    }
    if let Some(url) = &options.jupyter {
        let address = Address::parse(url).map_err(|error| anyhow::anyhow!("--jupyter: {error}"))?;
        if address.token.is_some() || machine.variable(JUPYTER_TOKEN).is_some() {
            secrets.push(JUPYTER_TOKEN.to_owned());
            notes.push(format!(
                "Set {JUPYTER_TOKEN} to the Jupyter server's token in the environment of the clients; their \
                 configurations only name the variable."
            ));
        }
        arguments.extend(["--jupyter-url".to_owned(), address.base.to_string()]);
    }
    options.options.iter().try_for_each(|option| refuse_secret(option))?;
    arguments.extend(options.options.iter().cloned());
    let has_folder = takes_folder(&arguments)?;
    let running = std::env::current_exe().context("cannot find out where this program is")?;
    let command = stable_command(&running, machine, scope != Scope::User);
    notes.extend(command.note);
    let start = Start::Command {
        program: command.program,
        arguments: command.arguments.into_iter().chain(arguments).collect(),
        folder: has_folder.then(|| ("--root".to_owned(), folder.display().to_string())),
    };
    let first_request = match (options.colab, &options.jupyter) {
        (true, _) => "“Work in my Colab notebook: add a cell that plots a sine curve, and run it.”",
        (false, Some(_)) => "“List the notebooks on my Jupyter server, and run the first cell of one.”",
        (false, None) => "“Create hello.ipynb, plot a sine curve in it, and run it.”",
    };
    Ok(Asked { entry: ServerEntry { start, secret_variables: secrets }, first_request, notes })
}

/// Fails if an argument is an option with a secret, or holds one.
fn refuse_secret(argument: &str) -> anyhow::Result<()> {
    let name = argument.split('=').next().unwrap_or(argument);
    let variable = match name.trim_start_matches('-') {
        "token" => "CELLBRIDGE_TOKEN".to_owned(),
        option if is_secret_name(name) => option.to_uppercase().replace('-', "_"),
        _ if has_secret_parts(argument) => JUPYTER_TOKEN.to_owned(),
        _ => return Ok(()),
    };
    let shown = if is_secret_name(name) { name } else { "an address with a user, a query or a fragment" };
    bail!(
        "{shown} would be written into files that others may read. Set {variable} in the environment of the clients."
    )
}

/// Whether a server with these arguments works in a folder that is not named yet. Fails if it would not start.
fn takes_folder(arguments: &[String]) -> anyhow::Result<bool> {
    let words = std::iter::once("cellbridge").chain(arguments.iter().map(String::as_str));
    let parsed = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        anyhow::anyhow!("a server would not start with these options: {first}")
    })?;
    Ok(parsed.command.is_none() && parsed.every.folder.root.is_none())
}

impl Asked {
    /// What to say about the configurations of these clients.
    pub(super) fn notes(&self, clients: &[&Client]) -> Vec<String> {
        let mut notes = self.notes.clone();
        let cannot: Vec<_> = clients
            .iter()
            .filter(|it| matches!(it.secrets, clients::Secrets::None))
            .map(|it| it.name)
            .collect();
        if !self.entry.secret_variables.is_empty() && !cannot.is_empty() {
            notes.push(format!("{} may not pass variables on to servers.", cannot.join(", ")));
        }
        let Start::Command { folder: Some((option, folder)), .. } = &self.entry.start else { return notes };
        let fixed: Vec<_> = clients
            .iter()
            .filter(|it| it.working_folder != WorkingFolder::Project)
            .filter(|it| !matches!(it.working_folder, WorkingFolder::Variable { in_user_file: true, .. }))
            .map(|it| it.name)
            .collect();
        if !fixed.is_empty() {
            notes.push(format!(
                "The folder of {}: {folder}. For another one, add `-- {option} DIR`.",
                fixed.join(", ")
            ));
        }
        notes
    }
}
