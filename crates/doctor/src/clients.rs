//! Clients that are configured to start this program: whether what they start exists and answers.

mod probe;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clients::{CLIENTS, Client, Configured, Scope, Starts, is_secret_name};
use futures_util::future::join_all;
use reqwest::redirect;

use super::finding::{Check, Finding, command};
use super::machine::Machine;
use super::state::is_exposed;
use environments::programs;
use probe::{ProbeError, ServerInfo, Surroundings, initialize};

const CHECK: Check = Check::Clients;
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Less than any client waits for a server to start.
const START_TIMEOUT: Duration = Duration::from_secs(5);
const HTTP_TIMEOUT: Duration = Duration::from_secs(3);

/// What a client's configuration leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Answers(ServerInfo),
    /// The command is this program, in a file that came with the folder: it is not started, because the folder's author
    /// wrote the arguments.
    IsThisProgram,
    /// Another command in such a file.
    NotStarted(String),
    /// The command of the person's own configuration, if it leads into the folder.
    LiesInFolder(String),
    NoProgram(String),
    Failed(ProbeError),
    Reachable,
    Unreachable,
    NoCommand,
    Disabled,
    Unreadable(String),
}

struct Facts {
    client: &'static Client,
    is_of_project: bool,
    outcome: Outcome,
    /// The file, if others can use it and our entry has a token in it.
    exposed: Option<PathBuf>,
}

pub(crate) async fn check(machine: &Machine) -> Vec<Finding> {
    let Some(home) = machine.process_env.home.clone() else {
        return vec![CHECK.ok("clients", "There is no home folder.")];
    };
    let described = clients::Machine::current(home, machine.process_env.variables.clone());
    let root = machine.root.clone().ok();
    let roots: Vec<PathBuf> = root.iter().chain(&machine.current_folder).cloned().collect();
    let outside = roots.iter().fold(machine.process_env.clone(), |outside, root| outside.outside(root));
    let surroundings = Surroundings {
        folder: programs::neutral_folder(machine.process_env.get("SYSTEMROOT")),
        variables: outside.variables.into_iter().collect(),
    };
    let read = tokio::task::spawn_blocking(move || read(&described, root.as_deref(), &roots));
    let Ok((entries, detected)) = read.await else { return Vec::new() };
    // Many clients start the same command.
    let commands: HashSet<_> = entries
        .iter()
        .filter_map(Entry::to_start)
        .map(|(program, arguments)| (program, arguments.to_vec()))
        .collect();
    let probes = commands.into_iter().map(|(program, arguments)| async {
        let answer = initialize(program.clone(), arguments.clone(), &surroundings, START_TIMEOUT).await;
        ((program, arguments), answer)
    });
    let (answers, outcomes) = tokio::join!(join_all(probes), join_all(entries.iter().map(Entry::outcome)));
    let answers: HashMap<_, _> = answers.into_iter().collect();
    let facts = entries.into_iter().zip(outcomes).map(|(entry, known)| {
        let asked =
            entry.to_start().and_then(|(program, arguments)| answers.get(&(program, arguments.to_vec())));
        let outcome = match asked {
            Some(Ok(info)) => Outcome::Answers(info.clone()),
            Some(Err(error)) => Outcome::Failed(entry.without_secrets(error.clone())),
            None => known,
        };
        Facts { client: entry.client, is_of_project: entry.is_of_project, outcome, exposed: entry.exposed }
    });
    findings(&facts.collect::<Vec<_>>(), &detected)
}

/// Our entry, or why a configuration cannot be read.
struct Entry {
    client: &'static Client,
    is_of_project: bool,
    configured: Result<Configured, String>,
    /// The program of its command, if it exists.
    program: Option<PathBuf>,
    /// Whether the command leads into the folder that agents work in, or into the current one.
    lies_in_folder: bool,
    exposed: Option<PathBuf>,
}

/// The entries, and the names of installed clients without one.
fn read(
    machine: &clients::Machine,
    root: Option<&Path>,
    roots: &[PathBuf],
) -> (Vec<Entry>, Vec<&'static str>) {
    let (mut entries, mut detected) = (Vec::new(), Vec::new());
    for client in CLIENTS {
        let scopes = std::iter::once(Scope::User).chain(root.map(Scope::Project));
        let found: Vec<Entry> = scopes.filter_map(|scope| entry(client, machine, scope, roots)).collect();
        if found.is_empty() && client.detected(machine).is_some() {
            detected.push(client.name);
        }
        entries.extend(found);
    }
    (entries, detected)
}

fn entry(
    client: &'static Client,
    machine: &clients::Machine,
    scope: Scope<'_>,
    roots: &[PathBuf],
) -> Option<Entry> {
    let configured = client.configured(machine, scope).map_err(|error| error.to_string()).transpose()?;
    let (program, arguments) = match &configured {
        Ok(Configured { starts: Starts::Command { program, arguments }, .. }) => {
            (machine.find_command(program), &arguments[..])
        }
        _ => (None, &[][..]),
    };
    let in_folder = |word: &str| programs::names_part_of(word, roots);
    let lies_in_folder = program.as_ref().and_then(|program| program.to_str()).is_some_and(in_folder)
        || arguments.iter().any(|argument| in_folder(argument));
    let exposed = configured.as_ref().ok().and_then(exposed);
    let is_of_project = scope != Scope::User;
    Some(Entry { client, is_of_project, configured, program, lies_in_folder, exposed })
}

/// Replaces the values of options that take a token, and the tokens of addresses.
fn hide_secrets(line: &str, arguments: &[String]) -> String {
    let after = arguments.windows(2).filter(|pair| is_secret_name(&pair[0])).map(|pair| &*pair[1]);
    let joined = arguments.iter().filter_map(|argument| {
        let (name, value) = argument.split_once('=')?;
        is_secret_name(name).then_some(value)
    });
    let in_address = arguments.iter().filter_map(|argument| {
        let (_, value) = argument.split_once("token=")?;
        value.split(['&', '#']).next()
    });
    let secrets = after.chain(joined).chain(in_address).filter(|secret| !secret.is_empty());
    secrets.fold(line.to_owned(), |line, secret| line.replace(secret, "(hidden)"))
}

/// The file of an entry that has a token in it, if others can use it.
fn exposed(configured: &Configured) -> Option<PathBuf> {
    let has_token = match &configured.starts {
        Starts::Command { arguments, .. } => arguments.iter().any(|argument| holds_token(argument)),
        Starts::Url(url) => holds_token(url),
        Starts::Nothing => false,
    };
    let can_be_used = || std::fs::metadata(&configured.file).is_ok_and(|file| is_exposed(&file));
    (has_token && can_be_used()).then(|| configured.file.clone())
}

/// A reference to a variable is no token.
fn holds_token(text: &str) -> bool {
    let option = text.split('=').next().unwrap_or(text);
    (is_secret_name(option) || text.contains("token=")) && !text.contains("${")
}

impl Entry {
    /// The command, if it may be started.
    fn to_start(&self) -> Option<(PathBuf, &[String])> {
        match &self.configured {
            Ok(Configured { starts: Starts::Command { arguments, .. }, is_disabled: false, .. })
                if !self.is_of_project && !self.lies_in_folder =>
            {
                Some((self.program.clone()?, arguments))
            }
            _ => None,
        }
    }

    /// What a server says of its failure may quote its arguments.
    fn without_secrets(&self, error: ProbeError) -> ProbeError {
        let (ProbeError::NoAnswer(line), Some((_, arguments))) = (&error, self.to_start()) else {
            return error;
        };
        ProbeError::NoAnswer(hide_secrets(line, arguments))
    }

    /// What is known without starting anything.
    async fn outcome(&self) -> Outcome {
        match &self.configured {
            Err(problem) => Outcome::Unreadable(problem.clone()),
            Ok(Configured { is_disabled: true, .. }) => Outcome::Disabled,
            Ok(Configured { starts: Starts::Nothing, .. }) => Outcome::NoCommand,
            Ok(Configured { starts: Starts::Url(url), .. }) => {
                if is_reachable(url).await {
                    Outcome::Reachable
                } else {
                    Outcome::Unreachable
                }
            }
            Ok(Configured { starts: Starts::Command { program, .. }, .. }) => match &self.program {
                None => Outcome::NoProgram(program.clone()),
                Some(found) if is_this_program(found) => Outcome::IsThisProgram,
                Some(_) if !self.is_of_project => Outcome::LiesInFolder(program.clone()),
                Some(_) => Outcome::NotStarted(program.clone()),
            },
        }
    }
}

fn is_this_program(program: &Path) -> bool {
    let own = std::env::current_exe().and_then(dunce::canonicalize);
    own.is_ok_and(|own| dunce::canonicalize(program).is_ok_and(|program| program == own))
}

/// Whether anything speaks HTTP there. The token stays here: only the health route is asked, which needs none.
async fn is_reachable(url: &str) -> bool {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Ok(mut url) = reqwest::Url::parse(url) else { return false };
    url.set_query(None);
    url.set_path("/healthz");
    let mut client = reqwest::Client::builder().timeout(HTTP_TIMEOUT).redirect(redirect::Policy::none());
    if url.scheme() == "http" {
        // Reading the system's certificates fails where there are none.
        client = client.tls_certs_only([]);
    }
    let Ok(client) = client.build() else { return false };
    client.get(url).send().await.is_ok()
}

fn findings(facts: &[Facts], detected: &[&str]) -> Vec<Finding> {
    let mut all: Vec<Finding> =
        facts.iter().flat_map(|facts| [Some(finding(facts)), exposure(facts)]).flatten().collect();
    if !detected.is_empty() {
        let message = format!("Installed without an entry for Cellbridge: {}.", detected.join(", "));
        all.push(CHECK.ok("other clients", message));
    }
    if all.is_empty() {
        all.push(CHECK.ok("clients", "No known client is installed."));
    }
    all
}

fn finding(facts: &Facts) -> Finding {
    let client = facts.client;
    let place = if facts.is_of_project { " (this folder)" } else { "" };
    let subject = format!("{}{place}", client.name);
    let broken = |message: String| CHECK.error(&*subject, message).fixed_by(install(facts));
    let partly = |message: String| CHECK.warning(&*subject, message);
    match &facts.outcome {
        Outcome::Answers(info) if info.name != clients::NAME => {
            partly(format!("Its entry {} starts another server, {} {}.", clients::NAME, info.name, info.version))
                .fixed_by(install(facts))
        }
        Outcome::Answers(info) if info.version != OWN_VERSION => {
            partly(format!("It starts version {}; this is {OWN_VERSION}.", info.version)).fixed_by(install(facts))
        }
        Outcome::Answers(info) => {
            CHECK.ok(&*subject, format!("It starts {} {}, which answers.", info.name, info.version))
        }
        Outcome::IsThisProgram => CHECK.ok(&*subject, "It starts this program."),
        Outcome::NotStarted(program) => partly(format!(
            "It starts {program:?}, which exists. It was not started, because the entry came with the folder."
        )),
        Outcome::LiesInFolder(program) => partly(format!(
            "It starts {program:?}, which is in this folder or has a file of it as an argument. It was not started."
        )),
        Outcome::NoProgram(program) => broken(format!("It starts {program:?}, which does not exist.")),
        Outcome::Failed(ProbeError::NotStarted(error)) => broken(format!("Its command cannot be started: {error}.")),
        Outcome::Failed(ProbeError::Silent) => {
            broken("Its command did not answer initialize in time.".to_owned())
        }
        // Another one runs with the same port.
        Outcome::Failed(ProbeError::NoAnswer(line)) if line.contains("in use") => {
            partly(format!("Its command did not answer, perhaps because it is already running: {line}"))
        }
        Outcome::Failed(ProbeError::NoAnswer(line)) => {
            let reason = if line.is_empty() { String::new() } else { format!(": {line}") };
            broken(format!("Its command did not answer initialize{reason}."))
        }
        Outcome::Reachable => CHECK.ok(&*subject, "It connects to a server that answers."),
        Outcome::Unreachable => CHECK.error(
            &*subject,
            "It connects to a server that does not answer; start it with cellbridge --transport streamable-http.",
        ),
        Outcome::NoCommand => broken("Its entry has neither a command nor a URL.".to_owned()),
        Outcome::Disabled => partly("Its entry is disabled there.".to_owned()),
        Outcome::Unreadable(problem) => partly(format!("Its configuration cannot be read: {problem}.")),
    }
}

fn exposure(facts: &Facts) -> Option<Finding> {
    let file = facts.exposed.as_ref()?.to_string_lossy();
    let message = format!("Other users can read or write {file}, which has a token in the entry.");
    Some(CHECK.warning(facts.client.name, message).fixed_by(command(["chmod", "go-rwx", &file])))
}

fn install(facts: &Facts) -> String {
    let words = ["cellbridge", "install", facts.client.id];
    command(words.into_iter().chain(facts.is_of_project.then_some("--project")))
}

#[cfg(test)]
mod tests;
