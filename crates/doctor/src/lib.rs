//! Looks at what agents will need here, and says what is wrong and which command fixes it.
//!
//! Each check gathers facts, with a bound on how long it waits, and derives findings from them without I/O. Nothing is
//! changed, except with `--fix`.

mod attempts;
mod clients;
mod colab;
mod finding;
mod kernels;
mod limits;
mod machine;
mod repair;
mod report;
mod servers;
mod state;

use std::path::PathBuf;
use std::time::Duration;

use ::colab::Browser;
use colab_machines::{Google, Http};
use environments::ProcessEnv;
use jupyter::Source;
use rest::Secret;

pub use attempts::{ConnectionAttempt, store_attempts};
pub use finding::{Check, Finding, Status};
use machine::Machine;

/// How long one check may take; all run at the same time.
const CHECK_TIMEOUT: Duration = Duration::from_secs(9);
/// For how many seconds a Jupyter server may be silent.
pub const SILENCE_SECONDS: f64 = 3.0;

/// What agents would be given here.
#[derive(Debug)]
pub struct Options {
    /// All variables of this process, and the person's home folder.
    pub process_env: ProcessEnv,
    /// `None` if it is gone.
    pub current_folder: Option<PathBuf>,
    /// The folder that they work in; without one, the current folder.
    pub root: Option<PathBuf>,
    /// Variables that are passed to kernels, although they belong to the client or its model.
    pub kernel_env: Vec<String>,
    /// The port for the Colab tab; 0 for any free one.
    pub tab_port: u16,
    pub browser: Browser,
    /// The Jupyter server, or why it cannot be used.
    pub server: anyhow::Result<Given>,
    pub google: Google,
    /// Whether to repair what is ours.
    pub fix: bool,
}

/// The Jupyter server that is given, if any, and how servers are reached.
#[derive(Debug)]
pub struct Given {
    pub source: Option<Source>,
    /// What of it must not be printed.
    pub secrets: Vec<Secret>,
    pub reach: rest::Options,
}

/// What all checks have found. No secret is in it.
#[derive(Debug)]
pub struct Report {
    title: String,
    pub findings: Vec<Finding>,
}

impl Report {
    /// For a person, on lines.
    pub fn text(&self) -> String {
        report::text(&self.title, &self.findings)
    }

    pub fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.status == Status::Error)
    }
}

/// Runs all checks. Fails if no folder is named and the current one is gone.
pub async fn report(options: Options) -> anyhow::Result<Report> {
    let (machine, fix) = (Machine::read(&options)?, options.fix);
    let (mut findings, secrets) = Box::pin(check(&machine, options)).await;
    if fix {
        findings = findings.into_iter().map(|finding| repair::repair(finding, machine.now)).collect();
    }
    let findings = findings.into_iter().map(|finding| report::clean(finding, &secrets)).collect();
    Ok(Report { title: title(&machine), findings })
}

async fn check(machine: &Machine, options: Options) -> (Vec<Finding>, Vec<Secret>) {
    let own = |check, work: fn(&Machine) -> Vec<Finding>| {
        let machine = machine.clone();
        within(CHECK_TIMEOUT, check, async move {
            tokio::task::spawn_blocking(move || work(&machine)).await.unwrap_or_default()
        })
    };
    let tab = colab::check(machine, &options);
    // Without usable settings for servers, a proxy that is needed is missing.
    let (proxies, agent) = options.server.as_ref().map_or_else(
        |_| (rest::Proxies::default(), String::new()),
        |given| (given.reach.proxies.clone(), given.reach.agent.clone()),
    );
    let login = colab::login::check(machine, Http::new(options.google, &proxies, &agent));
    let servers = async {
        match options.server {
            Ok(given) => servers::check(machine, given).await,
            Err(error) => (vec![Check::Servers.error("servers", format!("{error:#}"))], Vec::new()),
        }
    };
    let (kernels, servers, login, clients, state, limits) = tokio::join!(
        within(CHECK_TIMEOUT, Check::Kernels, kernels::check(machine)),
        tokio::time::timeout(CHECK_TIMEOUT, servers),
        within(CHECK_TIMEOUT, Check::Colab, login),
        within(CHECK_TIMEOUT, Check::Clients, clients::check(machine)),
        own(Check::State, state::check),
        own(Check::Limits, limits::check),
    );
    let (servers, secrets) = servers.unwrap_or_else(|_| (vec![late(Check::Servers)], Vec::new()));
    ([kernels, servers, tab, login, clients, state, limits].concat(), secrets)
}

async fn within(timeout: Duration, check: Check, work: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| vec![late(check)])
}

fn late(check: Check) -> Finding {
    let message = format!(
        "This check did not finish within {} s: a server or program did not answer.",
        CHECK_TIMEOUT.as_secs()
    );
    check.warning("this check", message)
}

fn title(machine: &Machine) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match &machine.root {
        Ok(root) => format!("cellbridge {version} in {}", root.display()),
        Err(_) => format!("cellbridge {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_does_not_end_is_given_up() {
        let findings = within(Duration::ZERO, Check::Kernels, std::future::pending()).await;
        assert_eq!((findings[0].check, findings[0].status), (Check::Kernels, Status::Warning));
    }
}
