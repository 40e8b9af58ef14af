//! Lines for whoever waits for a call, from wherever in it something takes long.

use tokio::sync::mpsc;

tokio::task_local! {
    static LISTENER: mpsc::Sender<String>;
}

/// Runs a call, and sends what is [told](tell) within it to `listener`.
pub async fn heard<F: Future>(listener: mpsc::Sender<String>, call: F) -> F::Output {
    LISTENER.scope(listener, call).await
}

/// Tells whoever waits for the call that this is a part of. `false` if nobody listens; a line that finds no room is
/// dropped.
pub fn tell(line: String) -> bool {
    LISTENER.try_with(|listener| drop(listener.try_send(line))).is_ok()
}

/// Whether somebody hears what is told.
pub fn is_heard() -> bool {
    LISTENER.try_with(|listener| !listener.is_closed()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_told_within_a_call_is_heard_by_whoever_waits_for_it() {
        let (listener, mut lines) = mpsc::channel(1);
        assert!(!is_heard() && !tell("nobody".to_owned()));
        let answer = heard(listener, async {
            assert!(is_heard() && tell("one".to_owned()) && tell("too much".to_owned()));
            2
        });
        assert_eq!(answer.await, 2);
        assert_eq!(lines.recv().await.as_deref(), Some("one"));
        assert_eq!(lines.recv().await, None);
    }
}
