//! `cellbridge status`: which clients are here, and which know our server.

use std::path::Path;

use anyhow::Context as _;
use clients::{CLIENTS, Client, Machine, Scope, Starts, masked_arguments};
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
        for (index, line) in row.lines(&machine).iter().enumerate() {
            let id = if index == 0 { row.client.id } else { "" };
            say(&format!("{id:width$}  {line}"))?;
        }
    }
    let others: Vec<_> = others.iter().map(|row| row.client.id).collect();
    if others.is_empty() { Ok(()) } else { say(&format!("not found: {}", others.join(", "))) }
}

/// One client.
struct Row<'a> {
    client: &'static Client,
    machine: &'a Machine,
    is_detected: bool,
    user: Entry,
    /// In the current folder.
    project: Entry,
}

/// What one configuration says.
enum Entry {
    Missing,
    Found { file: String, starts: Starts, is_disabled: bool, exists: bool },
    Unreadable(String),
}

impl Entry {
    fn of(client: &Client, machine: &Machine, scope: Scope) -> Self {
        match client.configured(machine, scope) {
            Ok(None) => Self::Missing,
            Ok(Some(found)) => {
                let exists = exists(&found.starts, machine);
                let file = found.file.display().to_string();
                Self::Found { file, starts: found.starts, is_disabled: found.is_disabled, exists }
            }
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }

    fn line(&self, machine: &Machine, name: &str) -> Option<String> {
        match self {
            Self::Missing => None,
            Self::Unreadable(error) => Some(format!("unreadable: {error}")),
            Self::Found { file, starts, is_disabled, exists } => {
                let file = machine::shown(Path::new(file), machine);
                let what = match starts {
                    Starts::Command { program, arguments } => {
                        [vec![program.clone()], masked_arguments(arguments)].concat().join(" ")
                    }
                    Starts::Url(url) => masked_arguments(std::slice::from_ref(url)).concat(),
                    Starts::Nothing => "neither a command nor an address".to_owned(),
                };
                let disabled = if *is_disabled { " (disabled)" } else { "" };
                let missing = if *exists { "" } else { " (this command does not exist)" };
                Some(one_line(&format!("{name}{disabled}: {file}: {what}{missing}")).into_owned())
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Missing => json!({ "configured": false }),
            Self::Unreadable(error) => json!({ "configured": false, "error": error }),
            Self::Found { file, starts, is_disabled, exists } => {
                let mut entry = json!({ "configured": true, "file": file, "disabled": is_disabled });
                match starts {
                    Starts::Command { program, arguments } => {
                        entry["command"] = json!(program);
                        entry["args"] = json!(masked_arguments(arguments));
                        entry["command_exists"] = json!(exists);
                    }
                    Starts::Url(url) => {
                        entry["url"] = json!(masked_arguments(std::slice::from_ref(url)).concat());
                    }
                    Starts::Nothing => {}
                }
                entry
            }
        }
    }
}

impl<'a> Row<'a> {
    fn of(client: &'static Client, machine: &'a Machine, folder: &Path) -> Self {
        Self {
            client,
            machine,
            is_detected: client.detected(machine).is_some(),
            user: Entry::of(client, machine, Scope::User),
            project: Entry::of(client, machine, Scope::Project(folder)),
        }
    }

    fn is_of_interest(&self) -> bool {
        self.is_detected || !matches!((&self.user, &self.project), (Entry::Missing, Entry::Missing))
    }

    fn lines(&self, machine: &Machine) -> Vec<String> {
        let entries = [(&self.user, "configured"), (&self.project, "configured in this project")];
        let lines: Vec<_> = entries.iter().filter_map(|(entry, name)| entry.line(machine, name)).collect();
        if lines.is_empty() { vec!["not configured".to_owned()] } else { lines }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.client.id,
            "name": self.client.name,
            "detected": self.is_detected,
            "file": self.client.file(self.machine, Scope::User),
            "user": self.user.json(),
            "project": self.project.json(),
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
