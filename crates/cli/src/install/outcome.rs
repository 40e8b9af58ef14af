//! What became of each client.

use anyhow::bail;
use clients::{ChangeError, Client, FileChange, Ledger, Machine, NotPossible, Scope, ServerEntry};

use super::machine;
use terminal::say;

pub(super) enum Outcome {
    /// A change that is not made yet.
    Pending(Box<FileChange>),
    Changed(Summary),
    Unchanged(Summary),
    /// All clients were meant, and this one cannot do it.
    Skipped(&'static Client, NotPossible),
    Failed(&'static Client, ChangeError),
}

pub(super) struct Summary {
    client: &'static Client,
    file: std::path::PathBuf,
    verb: &'static str,
    is_installed: bool,
}

impl Summary {
    fn of(change: &FileChange) -> Self {
        let verb = match (&change.before, &change.after) {
            (None, Some(_)) => "created",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "changed",
            (None, None) => "does not exist:",
        };
        Self {
            client: change.client,
            file: change.file.clone(),
            verb,
            is_installed: change.is_installation(),
        }
    }
}

impl Outcome {
    pub(super) fn of(client: &'static Client, change: Result<FileChange, ChangeError>) -> Self {
        match change {
            Ok(change) => Self::Pending(Box::new(change)),
            Err(error) => Self::Failed(client, error),
        }
    }

    /// The change to make, if there is one.
    pub(super) fn change(&self) -> Option<&FileChange> {
        match self {
            Self::Pending(change) if change.is_needed() => Some(change),
            _ => None,
        }
    }

    pub(super) fn apply(self, ledger: &mut Ledger) -> Self {
        let Self::Pending(change) = self else { return self };
        let (client, summary, is_needed) = (change.client, Summary::of(&change), change.is_needed());
        match change.apply(ledger) {
            Ok(()) if is_needed => Self::Changed(summary),
            Ok(()) => Self::Unchanged(summary),
            Err(error) => Self::Failed(client, error),
        }
    }

    /// The client, if it has our entry now.
    pub(super) fn installed(&self) -> Option<&'static Client> {
        match self {
            Self::Changed(summary) | Self::Unchanged(summary) if summary.is_installed => Some(summary.client),
            _ => None,
        }
    }

    pub(super) fn report(&self, machine: &Machine, scope: Scope, is_dry_run: bool) -> String {
        match self {
            Self::Pending(change) if change.is_needed() && is_dry_run => String::new(),
            Self::Pending(change) => unchanged(&Summary::of(change), machine),
            Self::Changed(summary) => {
                let file = machine::shown(&summary.file, machine);
                let done = format!("{}: {} {file}", summary.client.name, summary.verb);
                if summary.is_installed {
                    format!("{done}\n  {}", summary.client.next_step(scope))
                } else {
                    done
                }
            }
            Self::Unchanged(summary) => unchanged(summary, machine),
            Self::Skipped(client, reason) => format!("{}: skipped: {reason}", client.name),
            Self::Failed(client, ChangeError::Refused { block: Some(block), refusal, file }) => format!(
                "{}: {} was not changed: {refusal}.\n  Add this yourself:\n\n{}",
                client.name,
                machine::shown(file, machine),
                indented(block)
            ),
            Self::Failed(client, error) => format!("{}: nothing was changed: {error}.", client.name),
        }
    }
}

fn unchanged(summary: &Summary, machine: &Machine) -> String {
    let file = machine::shown(&summary.file, machine);
    let state = if summary.is_installed { "is up to date" } else { "has no entry for cellbridge" };
    format!("{}: {file} {state}", summary.client.name)
}

/// Fails if anything has failed; what it was is printed already.
pub(super) fn result(outcomes: &[Outcome]) -> anyhow::Result<()> {
    let failed = outcomes.iter().filter(|it| matches!(it, Outcome::Failed(..))).count();
    match failed {
        0 => Ok(()),
        1 => bail!("the configuration of one client was not changed"),
        failed => bail!("the configurations of {failed} clients were not changed"),
    }
}

/// What to paste, for each client.
pub(super) fn print_blocks(
    clients: &[&'static Client],
    entry: &ServerEntry,
    machine: &Machine,
    scope: Scope,
) -> anyhow::Result<()> {
    let mut failed = false;
    for client in clients {
        let file = client.file(machine, scope).map(|file| machine::shown(&file, machine)).unwrap_or_default();
        let block = client.alone(entry, scope);
        failed |= block.is_err();
        say(&match block {
            Ok(block) => format!("{} ({file}):\n\n{}", client.name, indented(&block)),
            Err(reason) => format!("{reason}\n"),
        })?;
    }
    if failed {
        bail!("not every client can do this");
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>().concat()
}
