//! The execution of one cell, until it ends or takes too long.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Event, Outcome};
use parking_lot::Mutex;
use place::{Executor, RunDetails, RunId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::areas::{Areas, error_line};

/// Why the cell failed, if it did. Its outputs go into `area`, even those that come after its end.
pub(super) async fn execute(
    executor: &dyn Executor,
    source: &str,
    limit: Duration,
    may_fail: bool,
    area: Arc<Mutex<Areas>>,
) -> Option<String> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let sink = Box::new(move |event| match event {
        Event::InputWanted { .. } | Event::Finished(_) => drop(sender.send(event)),
        event => area.lock().apply(event),
    });
    let details = RunDetails {
        run: RunId::new("verify".to_owned()),
        source: source.to_owned(),
        ..RunDetails::default()
    };
    let _execution = executor.execute(&details, sink);
    let _forgotten = Forgotten { executor, run: &details.run };
    let deadline = Instant::now() + limit;
    loop {
        let Ok(event) = timeout_at(deadline, events.recv()).await else {
            return Some(format!("it took longer than {} s", limit.as_secs_f64()));
        };
        match event {
            Some(Event::InputWanted { .. }) => return Some("it asks for input".to_owned()),
            Some(Event::Finished(outcome)) => return failure(outcome, may_fail),
            Some(_) => {}
            None => return Some("its kernel is gone".to_owned()),
        }
    }
}

/// A run that no later server looks for once this is dropped, however it ends.
struct Forgotten<'a> {
    executor: &'a dyn Executor,
    run: &'a RunId,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.executor.acknowledge(self.run);
    }
}

fn failure(outcome: Outcome, may_fail: bool) -> Option<String> {
    match outcome {
        Outcome::Done { .. } => None,
        Outcome::Error { .. } if may_fail => None,
        Outcome::Error { name, value, .. } => Some(error_line(&name, &value)),
        Outcome::KernelDied { how } => Some(format!("the kernel died: {how}")),
        Outcome::Refused { cause } => Some(cause),
        Outcome::Lost { cause, .. } => Some(cause.to_string()),
        Outcome::Aborted | Outcome::Interrupted { .. } => Some("it was interrupted".to_owned()),
    }
}
