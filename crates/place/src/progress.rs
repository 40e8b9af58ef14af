//! Progress: lines of text for the client that waits for a call, reported by any code that runs within the call.
//!
//! The sender is local to the task, so that no function between has to pass it on.

use tokio::sync::mpsc;

/// How many lines are queued; further ones are dropped.
const CAPACITY: usize = 64;

tokio::task_local! {
    static LINES: mpsc::Sender<String>;
}

/// Runs `work`, and hands each line that is [reported](report) within it to `take`.
pub async fn follow<F: Future>(work: F, mut take: impl FnMut(String)) -> F::Output {
    let (sender, mut lines) = mpsc::channel(CAPACITY);
    let work = LINES.scope(sender, work);
    tokio::pin!(work);
    let output = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => take(line),
            output = &mut work => break output,
        }
    };
    while let Ok(line) = lines.try_recv() {
        take(line);
    }
    output
}

/// Reports a line to the client that made the current call.
pub fn report(line: String) {
    if let Some(lines) = sender() {
        let _ = lines.try_send(line);
    }
}

/// The receiver of the current call's lines, for work in another task. `None` if there is no receiver.
pub fn sender() -> Option<mpsc::Sender<String>> {
    LINES.try_with(Clone::clone).ok().filter(|lines| !lines.is_closed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn progress_reaches_the_caller() {
        assert!(sender().is_none());
        report("no receiver".to_owned());
        let mut lines = Vec::new();
        let work = async {
            report("one".to_owned());
            let elsewhere = sender();
            tokio::spawn(async move { elsewhere.map(|lines| lines.try_send("two".to_owned())) }).await.is_ok()
        };
        assert!(follow(work, |line| lines.push(line)).await);
        assert_eq!(lines, ["one", "two"]);
    }

    #[tokio::test]
    async fn lines_beyond_the_capacity_are_dropped() {
        let mut count = 0;
        let work = async {
            for line in 0..2 * CAPACITY {
                report(line.to_string());
            }
        };
        follow(work, |_| count += 1).await;
        assert_eq!(count, CAPACITY);
    }
}
