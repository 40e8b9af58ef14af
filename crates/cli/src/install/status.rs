//! `cellbridge status`: which clients are here, and which know our server.

use std::path::Path;

use anyhow::Context as _;
use clients::{CLIENTS, ChangeError, Client, Configured, Machine, Scope, Starts, masked_arguments};
use notebook::one_line;
use serde_json::{Value, json};

use super::machine;
use crate::args;
use terminal::{say, say_json};

pub(crate) fn status(options: &args::Status) -> anyhow::Result<()> {
    let machine = machine::this_machine()?;
    let folder = std::env::current_dir().context("the current folder is gone; go to another one")?;
    let rows: Vec<_> = CLIENTS.iter().map(|client| Row::of(client, &machine, &folder)).collect();
    if options.json {
        return say_json(&rows.iter().map(Row::json).collect::<Value>());
    }
    let (shown, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_of_interest());
    let width = shown.iter().map(|row| row.client.id.len()).max().unwrap_or_default();
    for row in &shown {
        for (index, line) in row.lines().iter().enumerate() {
            let id = if index == 0 { row.client.id } else { "" };
            say(&format!("{id:width$}  {line}"))?;
        }
    }
    let others: Vec<_> = others.iter().map(|row| row.client.id).collect();
    if others.is_empty() { Ok(()) } else { say(&format!("not found: {}", others.join(", "))) }
}

/// One client, with our entry in the user's configuration and in that of the project in the current folder.
struct Row<'a> {
    client: &'static Client,
    machine: &'a Machine,
    is_detected: bool,
    user: Entry,
    project: Entry,
}

/// What one configuration says.
type Entry = Result<Option<Configured>, ChangeError>;

/// An entry in one line.
fn line(entry: &Entry, machine: &Machine, name: &str) -> Option<String> {
    let Configured { file, starts, is_disabled } = match entry {
        Ok(configured) => configured.as_ref()?,
        Err(error) => return Some(format!("unreadable: {error}")),
    };
    let what = match starts {
        Starts::Command { program, arguments } => {
            [vec![program.clone()], masked_arguments(arguments)].concat().join(" ")
        }
        Starts::Url(url) => masked_arguments(std::slice::from_ref(url)).concat(),
        Starts::Nothing => "neither a command nor an address".to_owned(),
    };
    let file = machine::shown(file, machine);
    let disabled = if *is_disabled { " (disabled)" } else { "" };
    let missing = if exists(starts, machine) { "" } else { " (this command does not exist)" };
    Some(one_line(&format!("{name}{disabled}: {file}: {what}{missing}")).into_owned())
}

fn json(entry: &Entry, machine: &Machine) -> Value {
    let Configured { file, starts, is_disabled } = match entry {
        Ok(Some(configured)) => configured,
        Ok(None) => return json!({ "configured": false }),
        Err(error) => return json!({ "configured": false, "error": error.to_string() }),
    };
    let mut entry =
        json!({ "configured": true, "file": file.display().to_string(), "disabled": is_disabled });
    match starts {
        Starts::Command { program, arguments } => {
            entry["command"] = json!(program);
            entry["args"] = json!(masked_arguments(arguments));
            entry["command_exists"] = json!(exists(starts, machine));
        }
        Starts::Url(url) => entry["url"] = json!(masked_arguments(std::slice::from_ref(url)).concat()),
        Starts::Nothing => {}
    }
    entry
}

impl<'a> Row<'a> {
    fn of(client: &'static Client, machine: &'a Machine, folder: &Path) -> Self {
        Self {
            client,
            machine,
            is_detected: client.detected(machine).is_some(),
            user: client.configured(machine, Scope::User),
            project: client.configured(machine, Scope::Project(folder)),
        }
    }

    fn is_of_interest(&self) -> bool {
        self.is_detected || !matches!((&self.user, &self.project), (Ok(None), Ok(None)))
    }

    fn lines(&self) -> Vec<String> {
        let entries = [(&self.user, "configured"), (&self.project, "configured in this project")];
        let lines: Vec<_> =
            entries.iter().filter_map(|(entry, name)| line(entry, self.machine, name)).collect();
        if lines.is_empty() { vec!["not configured".to_owned()] } else { lines }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.client.id,
            "name": self.client.name,
            "detected": self.is_detected,
            "file": self.client.file(self.machine, Scope::User),
            "user": json(&self.user, self.machine),
            "project": json(&self.project, self.machine),
        })
    }
}

/// Whether a client would find the command. An address is not tried.
fn exists(starts: &Starts, machine: &Machine) -> bool {
    match starts {
        Starts::Command { program, .. } => machine.find_command(program).is_some(),
        Starts::Url(_) => true,
        Starts::Nothing => false,
    }
}
