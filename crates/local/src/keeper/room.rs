//! Bounds the number of kept kernels.

use super::list::{KeptKernel, KeptState, kept_kernels};
use crate::ProcessEnv;

/// How many kernels are kept at once for one person.
const MAX_KEPT: usize = 8;

/// Makes room for one more kernel: ends the one that is idle longest, if there are too many and one may go. Returns what
/// an agent should know of it.
pub(crate) async fn make_room(process_env: &ProcessEnv) -> Option<String> {
    let mut kept = kept_kernels(process_env).await;
    kept.retain(|kernel| kernel.state != KeptState::Left);
    let (count, oldest) = (kept.len(), longest_idle(&kept)?);
    let of = oldest.notebook.as_ref().map(|path| format!(" of {}", path.display())).unwrap_or_default();
    if count + 1 == MAX_KEPT {
        return Some(format!(
            "{MAX_KEPT} kernels are kept now, the most there may be: before another starts, the one{of} ends, if nobody has \
             used it by then."
        ));
    }
    if count < MAX_KEPT {
        return None;
    }
    match oldest.stop().await {
        Ok(()) => Some(format!("The kernel{of}, which nobody used, was ended: at most {MAX_KEPT} are kept.")),
        Err(error) => {
            tracing::warn!(cause = error.0, "a kept kernel that nobody uses cannot be ended");
            None
        }
    }
}

/// The kernel that is idle longest. One that somebody is attached to, or whose runs nobody has read, is not.
fn longest_idle(kept: &[KeptKernel]) -> Option<&KeptKernel> {
    let is_idle = |kernel: &&KeptKernel| {
        matches!(kernel.state, KeptState::Idle | KeptState::Dead { .. })
            && kernel.attached.is_empty()
            && kernel.unread_runs == 0
    };
    kept.iter().filter(is_idle).min_by_key(|kernel| kernel.last_request)
}
