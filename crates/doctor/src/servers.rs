//! Jupyter servers: the given one and those that run on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use jupyter::Source;
use rest::discovery::{self, Discovery, UnusedFile, UnusedReason};
use rest::{Address, Credentials, Kind, LiveExtension, NextStep, Options, RestError, Rights, Secret, Server};

use super::finding::{Check, Finding, command};
use super::machine::Machine;
use crate::Given;

const CHECK: Check = Check::Servers;

/// How long one server may take, with all that it is asked.
const SERVER_TIMEOUT: Duration = Duration::from_secs(6);
/// More servers than anybody runs; further ones are not asked.
const MAX_SERVERS: usize = 16;

/// A server and what it answered.
struct Facts {
    base: String,
    origin: Origin,
    outcome: Result<Answer, Failure>,
}

enum Origin {
    Given,
    Running {
        root: PathBuf,
        /// Whether agents get this one if none is named.
        is_first: bool,
    },
}

struct Answer {
    version: String,
    has_credentials: bool,
    /// `None` if it cannot say.
    rights: Option<Rights>,
    extension: Option<LiveExtension>,
}

struct Failure {
    error: RestError,
    /// The token may start a server that its Hub has stopped; `None` if that is not known.
    may_start: Option<bool>,
}

impl From<RestError> for Failure {
    fn from(error: RestError) -> Self {
        Self { error, may_start: None }
    }
}

/// The findings, and what must not be printed.
pub(crate) async fn check(machine: &Machine, given: Given) -> (Vec<Finding>, Vec<Secret>) {
    let Given { source, mut secrets, reach } = given;
    let runtime = machine.process_env.jupyter_runtime_dir();
    let working_directory = machine.root.clone().unwrap_or_default();
    let found = tokio::task::spawn_blocking(move || find(runtime, working_directory));
    let (running, unused) = found.await.unwrap_or_default();
    secrets.extend(running.iter().filter_map(|server| server.address.token.clone()));
    let asked = running.into_iter().take(MAX_SERVERS).enumerate().map(|(at, found)| {
        let origin = Origin::Running { root: found.root, is_first: at == 0 };
        ask(found.address, Credentials::None, origin, &reach)
    });
    let (given, mut facts) = tokio::join!(ask_given(source, &reach), join_all(asked));
    let mut findings = Vec::new();
    match given {
        Some(Ok(given)) => facts.insert(0, given),
        Some(Err(error)) => findings.push(CHECK.error("--jupyter-url", error.to_string())),
        None => {}
    }
    if findings.is_empty() && facts.is_empty() {
        findings.push(
            CHECK
                .ok("servers", "No Jupyter server of this user is running; notebooks of a folder need none."),
        );
    }
    findings.extend(facts.iter().map(finding));
    findings.extend(unused.iter().map(unused_file));
    (findings, secrets)
}

fn find(
    runtime: Option<PathBuf>,
    working_directory: PathBuf,
) -> (Vec<discovery::RunningServer>, Vec<UnusedFile>) {
    let Some(runtime) = runtime else { return Default::default() };
    let unused = discovery::unused_files(&runtime);
    (discovery::running(&Discovery { runtime, working_directory }), unused)
}

async fn ask_given(source: Option<Source>, reach: &Options) -> Option<Result<Facts, RestError>> {
    let Source::Given { url, credentials } = source? else { return None };
    match Address::parse(&url) {
        Ok(address) => Some(Ok(ask(address, credentials, Origin::Given, reach).await)),
        Err(error) => Some(Err(error)),
    }
}

async fn ask(address: Address, credentials: Credentials, origin: Origin, reach: &Options) -> Facts {
    let base = address.base.to_string();
    let has_credentials = address.token.is_some() || !matches!(credentials, Credentials::None);
    let outcome = match Server::new(&address, credentials, reach) {
        Err(error) => Err(error.into()),
        Ok(server) => match tokio::time::timeout(SERVER_TIMEOUT, answer(&server, has_credentials)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(failure(&server, error).await),
            Err(_) => Err(RestError::new(
                Kind::Timeout,
                format!("It did not answer all questions within {} s.", SERVER_TIMEOUT.as_secs()),
                "Check that the server is not overloaded.",
            )
            .into()),
        },
    };
    Facts { base, origin, outcome }
}

async fn answer(server: &Server, has_credentials: bool) -> rest::Result<Answer> {
    let version = server.status().await?;
    let (rights, extension) = tokio::join!(server.rights(), server.live_extension());
    Ok(Answer { version, has_credentials, rights: rights?, extension: extension? })
}

async fn failure(server: &Server, error: RestError) -> Failure {
    if error.kind != Kind::Stopped {
        return error.into();
    }
    let may_start = tokio::time::timeout(Duration::from_secs(1), server.may_start()).await;
    Failure { error, may_start: may_start.ok().and_then(Result::ok).flatten() }
}

fn finding(facts: &Facts) -> Finding {
    let subject = &*facts.base;
    let is_given = matches!(facts.origin, Origin::Given);
    let broken = |message: String| {
        if is_given { CHECK.error(subject, message) } else { CHECK.warning(subject, message) }
    };
    let Failure { error, may_start } = match &facts.outcome {
        Ok(answer) => return answered(facts, answer),
        Err(failure) => failure,
    };
    match (error.kind, may_start) {
        (Kind::Stopped, Some(true)) => {
            CHECK.ok(subject, "Its Hub has stopped it, and starts it when an agent first needs it.")
        }
        (Kind::Stopped, Some(false)) => {
            broken(format!("Its Hub has stopped it, and the token cannot start it. {}", error.next))
        }
        (Kind::Stopped | Kind::Starting, _) => CHECK.warning(subject, error.to_string()),
        _ if error.next == NextStep::GivePassword => {
            CHECK.warning(subject, "It requires a password. Give it with --jupyter-url and JUPYTER_PASSWORD.")
        }
        _ => broken(error.to_string()),
    }
}

fn answered(facts: &Facts, answer: &Answer) -> Finding {
    let collaboration = match answer.extension {
        Some(LiveExtension::Collaboration) => "live notebooks by jupyter-collaboration",
        Some(LiveExtension::ServerDocuments) => "live notebooks by jupyter-server-documents",
        None => "no live notebooks, so people reload a notebook to see an agent's edits",
    };
    let origin = match &facts.origin {
        Origin::Given => "given".to_owned(),
        Origin::Running { root, is_first } => {
            let first = if *is_first { ", the first choice of agents here" } else { "" };
            let root = if root.as_os_str().is_empty() {
                "an unknown folder".into()
            } else {
                root.display().to_string()
            };
            format!("serves {root}{first}")
        }
    };
    let holder = if answer.has_credentials { "the token" } else { "everybody on this machine" };
    let about = format!("Jupyter Server {}, {origin}; {collaboration}", answer.version);
    let Some(rights) = answer.rights else {
        return CHECK.ok(&*facts.base, format!("{about}; it does not report the rights of {holder}."));
    };
    let all = [(rights.read, "read"), (rights.write, "write"), (rights.execute, "run code")];
    let list = |wanted: bool| {
        let rights = all.iter().filter(|(is_granted, _)| *is_granted == wanted).map(|(_, right)| *right);
        rights.collect::<Vec<_>>().join(", ")
    };
    let (granted, missing) = (list(true), list(false));
    if missing.is_empty() {
        return CHECK.ok(&*facts.base, format!("{about}; {holder} may {granted}."));
    }
    let message = if granted.is_empty() {
        format!("{about}; {holder} may do nothing.")
    } else {
        format!("{about}; {holder} may {granted}, but not {missing}.")
    };
    if !rights.read && matches!(facts.origin, Origin::Given) {
        CHECK.error(&*facts.base, message)
    } else {
        CHECK.warning(&*facts.base, message)
    }
}

fn unused_file(file: &UnusedFile) -> Finding {
    let path = file.path.display();
    let remove = |path: &Path| command(["rm", &path.to_string_lossy()]);
    match file.reason {
        UnusedReason::Ended => CHECK
            .warning(
                "stale file",
                format!("{path} belongs to a Jupyter server whose process does not run on this machine; it is ignored."),
            )
            .fixed_by(remove(&file.path)),
        UnusedReason::OnSocket => CHECK.warning(
            "Unix socket",
            format!("The Jupyter server of {path} listens on a Unix socket; start it with a port to use it."),
        ),
        UnusedReason::Unreadable => CHECK
            .warning(
                "unreadable file",
                format!("{path} is not a usable file of a Jupyter server."),
            )
            .fixed_by(remove(&file.path)),
    }
}

#[cfg(test)]
mod tests;
