//! This process: its environment, the folders of its state, and how it opens a browser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use colab::{Browser, Desktop};
use connection::joined;
use environments::{ProcessEnv, programs};
use place::{Error, NextStep};
use rest::RestError;

/// The variables with secrets that kernels do not inherit.
pub(crate) fn secret_variables() -> Vec<OsString> {
    let inherited = process_env();
    let is_secret =
        |name: &str| ["TOKEN", "PASSWORD", "KEY", "HEADERS"].iter().any(|end| name.ends_with(end));
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name);
    set.filter(|name| {
        name.to_str()
            .is_some_and(|name| is_secret(&name.to_ascii_uppercase()) && inherited.get(name).is_none())
    })
    .collect()
}

/// Closes this process to others of the same user, such as a cell, if its environment holds secrets: `/proc/…/environ` shows what a
/// process was started with, even after a change. Whatever it starts is open again (`PR_SET_DUMPABLE(2const)`).
#[cfg(target_os = "linux")]
pub(crate) fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if !secret_variables().is_empty()
        && let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "code in kernels can read the secrets in this program's environment");
    }
}

/// A failure of a command: what happened, once, and the option that helps.
pub(crate) fn problem(error: &anyhow::Error) -> String {
    let mut context = Vec::new();
    for cause in error.chain() {
        let of_place = cause.downcast_ref::<Error>().map(|error| (&error.cause, &error.next));
        let of_server = || cause.downcast_ref::<RestError>().map(|error| (&error.cause, &error.next));
        let step = of_place.or_else(of_server).map(|(cause, next)| (cause, option(next)));
        // Below it is what it was made of.
        if let Some((cause, next)) = step {
            context.push(joined(cause, &next));
            break;
        }
        context.push(cause.to_string());
    }
    context.join(": ")
}

/// A step with the options of commands.
fn option(step: &NextStep) -> String {
    match step {
        NextStep::GiveAddress => {
            "Start a server (`jupyter lab`), or give the address of a running one with --jupyter-url."
                .to_owned()
        }
        NextStep::GiveToken { obtain } => {
            format!("{obtain} Then set JUPYTER_TOKEN, or give it with --jupyter-token.")
        }
        NextStep::GivePassword => "Set JUPYTER_PASSWORD, or give it with --jupyter-password.".to_owned(),
        NextStep::GiveCertificate { .. } => format!("{step} The option is --ca-file."),
        step => step.to_string(),
    }
}

pub(crate) fn process_env() -> ProcessEnv {
    ProcessEnv::inherited(std::env::vars_os(), std::env::home_dir(), &[])
}

/// Why nothing can be stored.
pub(crate) const NO_STATE: &str = "there is no folder for the state of this program: HOME is not set";

/// The folder in which the operations of notebooks are recorded.
pub(crate) fn history_folder(process_env: &ProcessEnv) -> Option<PathBuf> {
    Some(process_env.own_state_dir()?.join("history"))
}

/// The folder in which runs on servers are logged.
pub(crate) fn run_logs(process_env: &ProcessEnv) -> Option<PathBuf> {
    Some(process_env.own_state_dir()?.join("runs"))
}

pub(crate) fn browser(is_forbidden: bool) -> Browser {
    match std::env::var("BROWSER") {
        _ if is_forbidden => Browser::Never,
        Ok(command) if !command.trim().is_empty() => Browser::Command(command),
        _ => Browser::System,
    }
}

pub(crate) fn desktop(process_env: &ProcessEnv, root: &Path) -> Desktop {
    Desktop {
        programs: programs::folders(process_env, root),
        home: process_env.home.clone(),
        temporary: process_env.temp_dir(),
    }
}

#[cfg(test)]
mod tests {
    use place::ErrorKind;
    use rest::Kind;

    use super::*;

    #[test]
    fn a_failure_is_said_once_with_the_option_that_helps() {
        let source = RestError::new(Kind::Unreachable, "Nothing listens.", NextStep::GiveAddress);
        let failed =
            Error::new(ErrorKind::Unavailable, "Nothing listens.", source.next.clone()).with_source(source);
        let error = anyhow::Error::from(failed).context("a.ipynb");
        let expected = "a.ipynb: Nothing listens. Start a server (`jupyter lab`), or give the address of a running one with --jupyter-url.";
        assert_eq!(problem(&error), expected);
        assert_eq!(problem(&anyhow::anyhow!("inner").context("outer")), "outer: inner");
    }
}
