//! This process: its environment, the folders of its state, and how it opens a browser.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use colab::{Browser, Desktop};
use environments::{ProcessEnv, programs};
use rest::Secret;
use runs::RunSuffix;

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

/// What distinguishes the runs of this server from those of others.
pub(crate) fn run_suffix() -> anyhow::Result<RunSuffix> {
    let random = Secret::generate()?;
    let bytes = random.expose().as_bytes().first_chunk().copied();
    Ok(RunSuffix::of_random(bytes.context("no random bytes")?))
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
