//! Starting the program, and what it weighs.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::line_client::LineClient;

/// The first message of an agent.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
/// Follows the answer to `initialize`.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A child that is killed with this.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A child that has answered `initialize`, and how long that took from before it was started.
pub(crate) fn start(command: &mut Command) -> Result<(LineClient, Duration)> {
    let start = Instant::now();
    let mut lines = LineClient::start(command)?;
    lines.send(INITIALIZE)?;
    lines.answer(1)?;
    Ok((lines, start.elapsed()))
}

/// Keeps the user's own Jupyter settings out of the measurement.
pub(crate) fn in_home(command: &mut Command, home: &Path) {
    for (name, folder) in [
        ("HOME", "home"),
        ("IPYTHONDIR", "ipython"),
        ("JUPYTER_CONFIG_DIR", "config"),
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
        ("XDG_STATE_HOME", "state"),
    ] {
        command.env(name, home.join(folder));
    }
    command.env_remove("JUPYTER_PATH");
}

/// The resident memory of a process, in KiB.
pub(crate) fn resident(id: u32) -> Result<u64> {
    let status =
        std::fs::read_to_string(format!("/proc/{id}/status")).context("memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

/// A number of KiB.
pub(crate) fn mb(kib: u64) -> String {
    format!("{}.{} MB", kib / 1024, kib % 1024 * 10 / 1024)
}

/// The load average of the last minute; figures of a busy machine say little.
pub(crate) fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
