//! `cellbridge install`, `uninstall` and `status`: our server in the configurations of MCP clients.

mod choice;
mod machine;
mod outcome;
mod program;
mod server;
mod status;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::error::ErrorKind;
use clients::{CLIENTS, ChangeError, Client, FileChange, Ledger, Machine, Scope};
use similar::TextDiff;

use crate::args::{Install, Uninstall, Which};
use outcome::Outcome;
pub(crate) use status::status;
use terminal::{is_read_by_person, say};

/// What `install` and `uninstall` have in common.
struct Session {
    machine: Machine,
    ledger: Ledger,
    folder: PathBuf,
    is_project: bool,
    is_dry_run: bool,
    /// The person has chosen at a prompt, and confirms the changes there too.
    is_asked: bool,
}

pub(crate) fn install(options: &Install) -> anyhow::Result<()> {
    let mut session = Session::start(&options.which, options.dry_run)?;
    let entry = server::entry(options, &session.machine, &session.folder, session.scope())?;
    let found = session.found();
    let clients = session.chosen(&options.which, &found, "install", "Configure")?;
    if options.print {
        return outcome::print_blocks(&clients, &entry.entry, &session.machine, session.scope());
    }
    let outcomes = clients.iter().map(|client| {
        let change =
            clients::install(client, &session.machine, session.scope(), &entry.entry, &session.ledger);
        // What a client cannot do is no failure if it was not named.
        match change {
            Err(ChangeError::NotPossible(reason)) if options.which.all => Outcome::Skipped(client, reason),
            change => Outcome::of(client, change),
        }
    });
    let outcomes = session.apply(outcomes.collect())?;
    let installed: Vec<_> = outcomes.iter().filter_map(Outcome::installed).collect();
    if !installed.is_empty() {
        say(&entry.notes(&installed).join("\n"))?;
        say(&format!("\nThen ask the agent: {}", entry.first_request))?;
    }
    outcome::result(&outcomes)
}

pub(crate) fn uninstall(options: &Uninstall) -> anyhow::Result<()> {
    let mut session = Session::start(&options.which, options.dry_run)?;
    let configured = session.configured();
    if configured.is_empty() && options.which.clients.is_empty() {
        return say("No client has an entry for cellbridge.");
    }
    let clients = session.chosen(&options.which, &configured, "uninstall", "Remove from")?;
    let changes = clients.iter().map(|client| {
        Outcome::of(client, clients::uninstall(client, &session.machine, session.scope(), &session.ledger))
    });
    let outcomes = session.apply(changes.collect())?;
    outcome::result(&outcomes)
}

impl Session {
    fn start(which: &Which, is_dry_run: bool) -> anyhow::Result<Self> {
        let folder = std::env::current_dir().context("the current folder is gone; go to another one")?;
        let (machine, ledger) = (machine::this_machine()?, machine::ledger()?);
        Ok(Self { machine, ledger, folder, is_project: which.project, is_dry_run, is_asked: false })
    }

    fn scope(&self) -> Scope<'_> {
        if self.is_project { Scope::Project(&self.folder) } else { Scope::User }
    }

    /// The clients of this machine that can be configured.
    fn found(&self) -> Vec<&'static Client> {
        let is_found = |client: &&Client| client.detected(&self.machine).is_some();
        let can_be = |client: &&Client| client.file(&self.machine, self.scope()).is_some();
        CLIENTS.iter().filter(is_found).filter(can_be).collect()
    }

    /// The clients that have an entry.
    fn configured(&self) -> Vec<&'static Client> {
        let is_configured =
            |client: &&Client| matches!(client.configured(&self.machine, self.scope()), Ok(Some(_)));
        CLIENTS.iter().filter(is_configured).collect()
    }

    /// The clients that are named, or all of the candidates, or what the person chooses of them.
    fn chosen(
        &mut self,
        which: &Which,
        candidates: &[&'static Client],
        verb: &str,
        action: &str,
    ) -> anyhow::Result<Vec<&'static Client>> {
        if !which.clients.is_empty() {
            return Ok(which.clients.clone());
        }
        if candidates.is_empty() {
            bail!(
                "no client was found on this machine. Name one: cellbridge {verb} CLIENT. {}",
                names(CLIENTS.iter())
            );
        }
        if which.all {
            return Ok(candidates.to_vec());
        }
        if !(std::io::stdin().is_terminal() && is_read_by_person()) {
            let found = names(candidates.iter().copied());
            let missing = format!("name clients, or give --all: cellbridge {verb} CLIENT. {found}\n");
            clap::Error::raw(ErrorKind::MissingRequiredArgument, missing).exit();
        }
        self.is_asked = true;
        let rows: Vec<_> = candidates.iter().map(|client| (client.name, self.shown(client))).collect();
        Ok(choice::choose(action, &rows)?.into_iter().map(|index| candidates[index]).collect())
    }

    fn shown(&self, client: &Client) -> String {
        client
            .file(&self.machine, self.scope())
            .map(|file| machine::shown(&file, &self.machine))
            .unwrap_or_default()
    }

    /// Shows the changes or makes them, and says what became of each.
    fn apply(&mut self, outcomes: Vec<Outcome>) -> anyhow::Result<Vec<Outcome>> {
        if self.is_dry_run || self.is_asked {
            outcomes
                .iter()
                .filter_map(Outcome::change)
                .try_for_each(|change| say(difference(change).trim_end()))?;
        }
        let is_changing = outcomes.iter().any(|it| it.change().is_some());
        if self.is_asked && !self.is_dry_run && is_changing && !choice::confirm("Write these changes?")? {
            say("Nothing was written.")?;
            return Ok(Vec::new());
        }
        let mut done = Vec::new();
        for outcome in outcomes {
            let outcome = if self.is_dry_run { outcome } else { outcome.apply(&mut self.ledger) };
            say(&outcome.report(&self.machine, self.scope()))?;
            done.push(outcome);
        }
        Ok(done)
    }
}

/// A change as a unified diff of the entry.
fn difference(change: &FileChange) -> String {
    let name = change.file.display().to_string();
    let side = |text: &Option<String>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
    let [before, after] = change.shown();
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().header(&side(&change.before), &side(&change.after)).to_string()
}

fn names<'a>(clients: impl Iterator<Item = &'a Client>) -> String {
    let names: Vec<_> = clients.map(|client| client.id).collect();
    format!("Clients: {}", names.join(", "))
}
