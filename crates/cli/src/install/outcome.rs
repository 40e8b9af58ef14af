//! What became of each client.

use anyhow::{bail, ensure};
use clients::{ChangeError, Client, FileChange, Ledger, Machine, NotPossible, Scope, ServerEntry};

use super::machine;
use terminal::say;

pub(super) enum Outcome {
    /// A change, which may leave the file as it is.
    Change {
        change: Box<FileChange>,
        is_made: bool,
    },
    /// All clients were meant, and this one cannot do it.
    Skipped(&'static Client, NotPossible),
    Failed(&'static Client, ChangeError),
}

impl Outcome {
    pub(super) fn of(client: &'static Client, change: Result<FileChange, ChangeError>) -> Self {
        match change {
            Ok(change) => Self::Change { change: Box::new(change), is_made: false },
            Err(error) => Self::Failed(client, error),
        }
    }

    /// The change to make, if there is one.
    pub(super) fn change(&self) -> Option<&FileChange> {
        match self {
            Self::Change { change, is_made: false } if change.is_needed() => Some(change),
            _ => None,
        }
    }

    pub(super) fn apply(self, ledger: &mut Ledger) -> Self {
        let Self::Change { mut change, .. } = self else { return self };
        match change.apply(ledger) {
            Ok(()) => Self::Change { change, is_made: true },
            Err(error) => Self::Failed(change.client, error),
        }
    }

    /// The client, if it has our entry now.
    pub(super) fn installed(&self) -> Option<&'static Client> {
        match self {
            Self::Change { change, is_made: true } if change.is_installation() => Some(change.client),
            _ => None,
        }
    }

    pub(super) fn report(&self, machine: &Machine, scope: Scope) -> String {
        match self {
            Self::Change { change, is_made } => {
                let (client, file) = (change.client, machine::shown(&change.file, machine));
                let verb = match (&change.before, &change.after) {
                    _ if !change.is_needed() && change.is_installation() => {
                        return format!("{}: {file} is up to date", client.name);
                    }
                    _ if !change.is_needed() => {
                        return format!("{}: {file} has no entry for cellbridge", client.name);
                    }
                    // Its difference is shown.
                    _ if !is_made => return String::new(),
                    (None, _) => "created",
                    (_, None) => "deleted",
                    _ => "changed",
                };
                let next = change.is_installation().then(|| format!("\n  {}", client.next_step(scope)));
                format!("{}: {verb} {file}{}", client.name, next.unwrap_or_default())
            }
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

/// Fails if anything has failed; what it was is printed already.
pub(super) fn result(outcomes: &[Outcome]) -> anyhow::Result<()> {
    let failed = outcomes.iter().filter(|it| matches!(it, Outcome::Failed(..))).count();
    ensure!(failed == 0, "configurations that were not changed: {failed}");
    Ok(())
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
