//! The kernels of other programs, in the list.

use std::time::SystemTime;

use local::{ForeignKernelInfo, RefusedFile};
use serde_json::{Value, json};

use super::shown;
use terminal::say;

/// Lists the kernels, and why connection files are not used.
pub(super) fn list(
    kernels: &[ForeignKernelInfo],
    refused: &[RefusedFile],
    now: SystemTime,
) -> anyhow::Result<()> {
    if !kernels.is_empty() {
        say("\nExternal kernels (an agent can join them by id; Cellbridge never ends them):")?;
    }
    kernels.iter().try_for_each(|kernel| say(&line(kernel, now)))?;
    refused
        .iter()
        .try_for_each(|file| say(&format!("not used: {}: {}", terminal::path(&file.path), file.reason)))
}

/// The id, the state, and who has started it.
fn line(kernel: &ForeignKernelInfo, now: SystemTime) -> String {
    let age = shown(now.duration_since(kernel.started_at).unwrap_or_default());
    let kind = kernel.kernel_name.as_ref().or(kernel.language.as_ref());
    let mut parts = vec![state(kernel).to_owned()];
    parts.extend(kind.cloned());
    parts.extend([kernel.origin.clone(), format!("{age} ago")]);
    format!("{}\n    {}", kernel.id, parts.join(", "))
}

pub(super) fn to_json(kernel: &ForeignKernelInfo) -> Value {
    json!({
        "kind": "foreign",
        "id": kernel.id,
        "state": state(kernel),
        "kernel_name": kernel.kernel_name,
        "language": kernel.language,
        "origin": kernel.origin,
        "session": kernel.session,
        "started_at": chrono::DateTime::<chrono::Utc>::from(kernel.started_at).to_rfc3339(),
        "connection_file": kernel.connection_file,
    })
}

fn state(kernel: &ForeignKernelInfo) -> &'static str {
    if kernel.is_busy { "busy" } else { "idle" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kernel() -> ForeignKernelInfo {
        ForeignKernelInfo {
            id: "4711".to_owned(),
            is_busy: true,
            kernel_name: None,
            language: Some("python".to_owned()),
            origin: "started for a.ipynb, as a Jupyter server does".to_owned(),
            session: Some("a.ipynb".to_owned()),
            started_at: SystemTime::UNIX_EPOCH,
            connection_file: "/run/kernel-4711.json".into(),
        }
    }

    #[test]
    fn a_line_says_what_is_known() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(300);
        let expected = "4711\n    busy, python, started for a.ipynb, as a Jupyter server does, 5 min ago";
        assert_eq!(line(&kernel(), now), expected);
    }

    #[test]
    fn json_tells_foreign_kernels_from_kept_ones() {
        let shown = to_json(&kernel());
        assert_eq!((&shown["kind"], &shown["state"]), (&json!("foreign"), &json!("busy")));
        assert_eq!(shown["kernel_name"], Value::Null);
    }
}
