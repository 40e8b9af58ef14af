//! The kernels that outlive their servers.

use std::time::SystemTime;

use anyhow::bail;
use environments::ProcessEnv;
use keeper::{KeptKernel, kept_kernels, unused_folders};
use page::keeper_state;
use serde_json::{Value, json};

use super::{check_is_not_foreign, logs, shown};
use crate::args::{LogsOfKernel, StopKernels};
use terminal::say;

pub(super) struct KeptListing {
    kernels: Vec<KeptKernel>,
    /// Why there may be more.
    warnings: Vec<String>,
}

impl KeptListing {
    pub(super) async fn find(process_env: &ProcessEnv) -> Self {
        let state = process_env.state_folder();
        Self { kernels: kept_kernels(&state).await, warnings: unused_folders(&state) }
    }

    pub(super) fn to_json(&self) -> impl Iterator<Item = Value> {
        self.kernels.iter().map(to_json)
    }

    pub(super) fn list(&self, now: SystemTime) -> anyhow::Result<()> {
        if self.kernels.is_empty() {
            say("No kernels are kept.")?;
        }
        self.kernels.iter().try_for_each(|kernel| say(&line(kernel, now)))?;
        self.warnings.iter().try_for_each(|warning| say(warning))
    }

    pub(super) async fn stop(&self, options: &StopKernels, process_env: &ProcessEnv) -> anyhow::Result<()> {
        let all_or_one = match &options.id {
            Some(id) => meant(&self.kernels, id, process_env)?,
            None => self.kernels.iter().collect(),
        };
        let mut failures = Vec::new();
        for kernel in all_or_one {
            match kernel.stop().await {
                Ok(()) => say(&format!("stopped {}", kernel.record.id))?,
                Err(error) => {
                    failures.push(format!("kernel {} was not stopped: {}", kernel.record.id, error.0));
                }
            }
        }
        if failures.is_empty() { Ok(()) } else { bail!(failures.join("\n")) }
    }

    pub(super) fn show_logs(&self, options: &LogsOfKernel, process_env: &ProcessEnv) -> anyhow::Result<()> {
        let meant = meant(&self.kernels, &options.id, process_env)?;
        meant.into_iter().try_for_each(|kernel| logs::show(kernel, options))
    }
}

/// The kernel whose id begins so. What a dead keeper left has the id of the kernel that took its place.
fn meant<'k>(
    kernels: &'k [KeptKernel],
    id: &str,
    process_env: &ProcessEnv,
) -> anyhow::Result<Vec<&'k KeptKernel>> {
    let meant: Vec<&KeptKernel> = kernels.iter().filter(|kernel| kernel.record.id.starts_with(id)).collect();
    match &meant[..] {
        [] => {
            check_is_not_foreign(id, process_env)?;
            bail!("there is no kernel {id:?}; `cellbridge kernels` lists them")
        }
        [first, others @ ..] if others.iter().all(|other| other.record.id == first.record.id) => Ok(meant),
        _ => bail!("{} kernels have an id that starts with {id:?}", meant.len()),
    }
}

/// The id, the state, and what a person decides by.
fn line(kernel: &KeptKernel, now: SystemTime) -> String {
    let age = |since: SystemTime| shown(now.duration_since(since).unwrap_or_default());
    let mut parts = vec![
        keeper_state(&kernel.state),
        kernel.record.choice.display_name().to_owned(),
        format!("started {} ago", age(kernel.record.started_at)),
    ];
    parts.extend(kernel.last_request.map(|at| format!("last used {} ago", age(at))));
    let servers: Vec<_> = kernel.attached.iter().map(u32::to_string).collect();
    parts.push(match &servers[..] {
        [] => "no server attached".to_owned(),
        servers => format!("attached servers: {}", servers.join(", ")),
    });
    parts.extend(kernel.memory.map(|bytes| format!("{} MB in memory", bytes / 1_000_000)));
    if kernel.unread_runs > 0 {
        parts.push(format!("runs not reported to any agent: {}", kernel.unread_runs));
    }
    let notebook = kernel.record.notebook.as_deref().map(terminal::path).unwrap_or_default();
    format!("{}  {notebook}\n    {}", kernel.record.id, parts.join(", "))
}

fn to_json(kernel: &KeptKernel) -> Value {
    let time = |at: SystemTime| chrono::DateTime::<chrono::Utc>::from(at).to_rfc3339();
    json!({
        "kind": "kept",
        "id": kernel.record.id,
        "state": keeper_state(&kernel.state),
        "display_name": kernel.record.choice.display_name(),
        "program": kernel.record.choice.program(),
        "notebook": kernel.record.notebook,
        "started_at": time(kernel.record.started_at),
        "last_request": kernel.last_request.map(time),
        "attached": kernel.attached,
        "unread_runs": kernel.unread_runs,
        "keeper": kernel.record.process,
        "memory": kernel.memory,
    })
}
