//! `cellbridge doctor`: looks at what agents will need here, and says what is wrong and which command fixes it.
//!
//! Each check gathers facts, with a bound on how long it waits, and derives findings from them without I/O. Nothing is
//! changed, except with `--fix`.

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

use std::process::ExitCode;
use std::time::Duration;

use crate::args;
use crate::terminal::{say, say_json};
use finding::{Check, Finding, Status};
use machine::Machine;
use servers::Servers;

/// How long one check may take; all run at the same time.
const CHECK_TIMEOUT: Duration = Duration::from_secs(9);

/// Prints the findings. The exit status says whether one of them is an error.
pub(crate) async fn run(options: args::Doctor) -> anyhow::Result<ExitCode> {
    let machine = Machine::read(&options)?;
    let (mut findings, secrets) = Box::pin(check(&machine, &options)).await;
    if options.fix {
        findings = findings.into_iter().map(|finding| repair::repair(finding, machine.now)).collect();
    }
    let findings: Vec<Finding> =
        findings.into_iter().map(|finding| report::clean(finding, &secrets)).collect();
    if options.json {
        say_json(&findings)?;
    } else {
        say(&report::text(&title(&machine), &findings))?;
    }
    let has_error = findings.iter().any(|finding| finding.status == Status::Error);
    Ok(if has_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn check(machine: &Machine, options: &args::Doctor) -> (Vec<Finding>, Vec<rest::Secret>) {
    let own = |check, work: fn(&Machine) -> Vec<Finding>| {
        let machine = machine.clone();
        within(
            check,
            async move { tokio::task::spawn_blocking(move || work(&machine)).await.unwrap_or_default() },
        )
    };
    let servers = async {
        servers::check(machine, &options.server).await.unwrap_or_else(|error| Servers {
            findings: vec![Check::Servers.error("servers", format!("{error:#}"))],
            secrets: Vec::new(),
        })
    };
    let (kernels, servers, clients, state, limits) = tokio::join!(
        within(Check::Kernels, kernels::check(machine)),
        tokio::time::timeout(CHECK_TIMEOUT, servers),
        within(Check::Clients, clients::check(machine)),
        own(Check::State, state::check),
        own(Check::Limits, limits::check),
    );
    let Servers { findings: servers, secrets } =
        servers.unwrap_or_else(|_| Servers { findings: vec![late(Check::Servers)], secrets: Vec::new() });
    let colab = colab::check(machine, options);
    ([kernels, servers, colab, clients, state, limits].concat(), secrets)
}

async fn within(check: Check, work: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    bounded(check, CHECK_TIMEOUT, work).await
}

async fn bounded(check: Check, timeout: Duration, work: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| vec![late(check)])
}

fn late(check: Check) -> Finding {
    let message = format!(
        "This check did not finish within {} s: something that it needs does not answer.",
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
        let findings = bounded(Check::Kernels, Duration::ZERO, std::future::pending()).await;
        assert_eq!((findings[0].check, findings[0].status), (Check::Kernels, Status::Warning));
    }
}
