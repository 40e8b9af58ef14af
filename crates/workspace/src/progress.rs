//! Progress of a slow call, for the client that waits for it.

use tokio::sync::mpsc;

tokio::task_local! {
    static SENDER: mpsc::Sender<String>;
}

/// Runs `call`, and sends everything that it [reports](report) to `sender`.
pub async fn scope<F: Future>(sender: mpsc::Sender<String>, call: F) -> F::Output {
    SENDER.scope(sender, call).await
}

/// Sends a line to the client that made this call. `false` if no client asked for progress; lines are dropped while
/// the channel is full.
pub fn report(line: String) -> bool {
    SENDER.try_with(|sender| drop(sender.try_send(line))).is_ok()
}

/// Whether a client asked for progress and still waits for this call.
pub fn is_wanted() -> bool {
    SENDER.try_with(|sender| !sender.is_closed()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn progress_reaches_the_caller() {
        let (sender, mut lines) = mpsc::channel(1);
        let call = scope(sender, async {
            assert!(is_wanted());
            assert!(report("one".to_owned()));
            // The channel is full: dropped, but not a failure.
            assert!(report("two".to_owned()));
            2
        });
        assert_eq!(call.await, 2);
        assert_eq!(lines.recv().await.as_deref(), Some("one"));
        assert_eq!(lines.recv().await, None);
    }

    #[test]
    fn without_a_caller_progress_is_not_wanted() {
        assert!(!is_wanted());
        assert!(!report("nobody".to_owned()));
    }
}
