//! What happens if the log cannot be written: the disk is full, for example. The kernel goes on, and its clients learn that
//! they will not learn how its runs end.

use std::io;
use std::time::SystemTime;

use kernel::log::{ClientId, LogEvent, LogRecord};

use super::Keeper;
use crate::protocol::KeeperFrame;

impl Keeper {
    /// Appends to the log, and remembers what that means for its runs.
    pub(super) fn record(&mut self, record: &LogRecord) {
        let offset = self.write(record).unwrap_or_else(|| self.log.end());
        self.runs.read(SystemTime::now(), offset, record);
    }

    /// Appends to the log. Returns the offset, unless it cannot be written.
    pub(super) fn write(&mut self, record: &LogRecord) -> Option<u64> {
        self.repair_log().ok()?;
        match self.log.append(record, SystemTime::now()) {
            Ok(offset) => Some(offset),
            Err(error) => {
                self.on_log_failure(&error);
                None
            }
        }
    }

    /// Says in the log that records are missing there, if that is possible by now. Fails with the error number if it is not.
    pub(super) fn repair_log(&mut self) -> Result<(), i32> {
        let Some(os_error) = self.log_failure else { return Ok(()) };
        let event = LogRecord::Event(LogEvent::LogFailed { os_error });
        self.log.append(&event, SystemTime::now()).map_err(|_| os_error)?;
        self.log_failure = None;
        Ok(())
    }

    fn on_log_failure(&mut self, error: &io::Error) {
        let os_error = error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
        self.log_failure = Some(os_error);
        let following: Vec<ClientId> =
            self.clients.iter().filter(|(_, client)| client.is_following).map(|(id, _)| *id).collect();
        for client in following {
            self.report_log_failure(client, os_error);
        }
        self.count_attached();
    }

    /// The client learns that the log ends here.
    pub(super) fn report_log_failure(&mut self, client: ClientId, os_error: i32) {
        let end = self.log.end();
        if let Some(client) = self.clients.get_mut(&client) {
            client.is_following = false;
            client.send(KeeperFrame::LogFailed { end, os_error });
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use kernel::log::{Channel, RunRecord};
    use kernel::{Event, Outcome, TimedEvents};
    use serde_json::json;
    use tokio::time::timeout;

    use super::super::tests::{TIMEOUT, connect, keeper, parts};
    use super::super::{Ending, Keeper};

    async fn until_left(keeper: &mut Keeper) {
        if !keeper.clients.is_empty() {
            assert_eq!(keeper.run(None, std::future::pending()).await, Ending::Unused);
        }
    }

    fn print(keeper: &mut Keeper, text: &str) {
        let content = json!({ "name": "stdout", "text": text });
        keeper.on_message(Channel::Iopub, parts("stream", "1", "m1", &content));
    }

    /// How a run ended, and what it printed.
    async fn end((_, events): &mut (RunRecord, Option<TimedEvents>)) -> (Outcome, String) {
        let events = events.as_mut().unwrap();
        let mut printed = String::new();
        loop {
            match timeout(TIMEOUT, events.recv()).await.expect("it ends").unwrap().1 {
                Event::Finished(outcome) => return (outcome, printed),
                Event::Output { output: notebook::Output::Stream { text, .. }, .. } => {
                    printed.push_str(&text.as_str());
                }
                _ => {}
            }
        }
    }

    fn assert_lost(outcome: &Outcome) {
        let Outcome::Lost { cause, .. } = outcome else { panic!("{outcome:?}") };
        assert!(cause.to_string().contains("No space left on device"), "{cause}");
    }

    #[tokio::test]
    async fn runs_are_lost_with_the_cause_if_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = keeper(folder.path());
        let mut kept = connect(&mut keeper).await.unwrap();
        print(&mut keeper, "one\n");
        keeper.log.set_full(true).unwrap();
        print(&mut keeper, "two\n");
        let (outcome, printed) = end(&mut kept.orphans[0]).await;
        assert_lost(&outcome);
        assert!(printed.contains("one\n") && !printed.contains("two\n"), "{printed}");
        // The server has ended before it could report this.
        drop(kept);
        until_left(&mut keeper).await;
        let error = connect(&mut keeper).await.unwrap_err().to_string();
        until_left(&mut keeper).await;
        assert!(error.contains("No space left on device"), "{error}");
        keeper.log.set_full(false).unwrap();
        print(&mut keeper, "three\n");
        let mut kept = connect(&mut keeper).await.unwrap();
        assert_lost(&end(&mut kept.orphans[0]).await.0);
    }
}
