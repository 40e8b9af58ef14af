//! Bounds the number of kept kernels.

use crate::list::{KeeperState, KeptKernel, kept_kernels};
use crate::state_folder::StateFolder;

/// How many kernels are kept at once for one person.
const MAX_KEPT: usize = 8;

/// Ends kernels, those that are idle longest first, until one more may be kept. Returns what an agent should know of it. Fails with
/// the cause if too many are left that may not end.
pub async fn ensure_capacity(state: &StateFolder) -> Result<Vec<String>, String> {
    let mut kept = kept_kernels(state).await;
    kept.retain(|kernel| kernel.state != KeeperState::KeeperDead);
    let mut notices = Vec::new();
    while kept.len() >= MAX_KEPT {
        let full = || format!("{MAX_KEPT} kernels are already kept, and all are in use");
        let oldest = longest_idle(&kept).ok_or_else(full)?;
        let oldest = kept.remove(oldest);
        if let Err(error) = oldest.stop().await {
            tracing::warn!(cause = error.0, "an idle kept kernel cannot be stopped");
            return Err(full());
        }
        let of = of(&oldest);
        notices.push(format!("Stopped the idle kernel{of}: at most {MAX_KEPT} kernels are kept."));
    }
    if kept.len() + 1 == MAX_KEPT && notices.is_empty() {
        let next = match longest_idle(&kept) {
            Some(oldest) => {
                format!(
                    "starting another stops the kernel{}, unless that kernel is used first",
                    of(&kept[oldest])
                )
            }
            None => {
                "the next kernel will stop with its server, unless one of these is idle by then".to_owned()
            }
        };
        notices.push(format!("{MAX_KEPT} kernels are kept, which is the maximum: {next}."));
    }
    Ok(notices)
}

fn of(kernel: &KeptKernel) -> String {
    kernel.record.notebook.as_ref().map(|path| format!(" of {}", path.display())).unwrap_or_default()
}

/// The kernel that is idle longest. Attached kernels and those with unread runs do not count.
fn longest_idle(kept: &[KeptKernel]) -> Option<usize> {
    let is_idle = |(_, kernel): &(usize, &KeptKernel)| {
        matches!(kernel.state, KeeperState::Idle | KeeperState::Dead { .. })
            && kernel.attached.is_empty()
            && kernel.unread_runs == 0
    };
    kept.iter()
        .enumerate()
        .filter(is_idle)
        .min_by_key(|(_, kernel)| kernel.last_request)
        .map(|(index, _)| index)
}
