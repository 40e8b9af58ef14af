//! This machine, as the table of clients sees it.

use std::path::Path;

use anyhow::Context as _;
use clients::{Ledger, Machine, System};
use environments::ProcessEnv;

const LEDGER: &str = "installed.json";

pub(crate) fn this_machine() -> anyhow::Result<Machine> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let home = home.context("the home folder is unknown; set HOME")?;
    Ok(Machine::current(home, std::env::vars_os()))
}

/// What was installed by this user so far.
pub(super) fn ledger() -> anyhow::Result<Ledger> {
    let process_env = ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() };
    let folder = process_env.own_data_dir().context("the folder for data is unknown; set HOME")?;
    Ok(Ledger::read(folder.join(LEDGER)))
}

/// A path as people write it.
pub(super) fn shown(path: &Path, machine: &Machine) -> String {
    match path.strip_prefix(&machine.home) {
        Ok(rest) if machine.system != System::Windows => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}
