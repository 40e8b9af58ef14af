//! Sends an agent what its call reports: progress under the agent's token, and the page's log.

use std::time::Duration;

use place::{Progress, Report};
use rmcp::model::{
    CustomNotification, LoggingLevel, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// How many reports are queued for a slow agent before further ones are dropped.
pub(crate) const MAX_QUEUED_REPORTS: usize = 4096;
/// The longest pause between two reports of progress: some clients end a call that seems to do nothing.
const MAX_PAUSE: Duration = Duration::from_secs(9);
/// How much a report that only fills a pause adds to the progress, which has to grow: a step, like any other report of ours.
const STEP: f64 = 1.0;
/// The same where a page counts towards a total.
const STEP_OF_TOTAL: f64 = 0.0001;

/// An agent that waits for a call, and what it wants to be sent.
pub(crate) struct Audience<'a> {
    pub(crate) peer: &'a Peer<RoleServer>,
    /// The token under which progress is reported.
    pub(crate) token: Option<ProgressToken>,
    /// The lowest level of log lines; `None` in the 2026-07-28 era, where agents opt in to no log lines.
    pub(crate) level: Option<LoggingLevel>,
}

impl Audience<'_> {
    /// Waits for `call`; sends all `reports` before what it returns.
    pub(crate) async fn follow<T>(
        &self,
        call: impl Future<Output = T>,
        reports: &mut mpsc::Receiver<Report>,
    ) -> T {
        tokio::pin!(call);
        let mut reported = Reported::new(reports);
        let answer = loop {
            tokio::select! {
                biased;
                report = reported.next() => self.send(report).await,
                answer = &mut call => break answer,
            }
        };
        while let Ok(report) = reported.reports.try_recv() {
            self.send(report).await;
        }
        answer
    }

    async fn send(&self, report: Report) {
        // A disconnected agent needs no reports.
        let _ = match report {
            Report::Progress(Progress { progress, total, message }) => {
                let Some(token) = &self.token else { return };
                let mut params = ProgressNotificationParam::new(token.clone(), progress);
                params.total = total;
                params.message = message;
                self.peer.notify_progress(params).await
            }
            Report::Log(params) => {
                let Some(notification) = self.log_line(&params) else { return };
                self.peer.send_notification(notification).await
            }
        };
    }

    fn log_line(&self, params: &RawValue) -> Option<ServerNotification> {
        #[derive(Deserialize)]
        struct Line {
            level: LoggingLevel,
        }
        let Line { level } = serde_json::from_str(params.get()).ok()?;
        // They stand in the order of RFC 5424.
        if (level as u8) < self.level? as u8 {
            return None;
        }
        let params = serde_json::from_str(params.get()).ok();
        Some(ServerNotification::CustomNotification(CustomNotification::new("notifications/message", params)))
    }
}

/// What a call reports, with something in each long pause.
struct Reported<'a> {
    reports: &'a mut mpsc::Receiver<Report>,
    progress: f64,
    total: Option<f64>,
    /// Whether a pause was filled, so that the call's own progress may be behind.
    has_filled: bool,
    /// When the pause is too long.
    due: Instant,
}

impl<'a> Reported<'a> {
    fn new(reports: &'a mut mpsc::Receiver<Report>) -> Self {
        Self { reports, progress: 0.0, total: None, has_filled: false, due: Instant::now() + MAX_PAUSE }
    }

    async fn next(&mut self) -> Report {
        let mut report = tokio::select! {
            biased;
            Some(report) = self.reports.recv() => report,
            () = sleep_until(self.due) => {
                self.has_filled = true;
                let message = Some("still working".to_owned());
                Report::Progress(Progress { progress: self.progress, total: self.total, message })
            }
        };
        if let Report::Progress(Progress { progress, total, .. }) = &mut report {
            if self.has_filled && *progress <= self.progress {
                *progress = self.progress + if total.is_some() { STEP_OF_TOTAL } else { STEP };
            }
            (self.progress, self.total) = (*progress, *total);
            self.due = Instant::now() + MAX_PAUSE;
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(progress: f64) -> Report {
        Report::Progress(Progress { progress, total: None, message: None })
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_pause_is_filled_and_progress_grows() {
        let (sender, mut reports) = mpsc::channel(8);
        let mut reported = Reported::new(&mut reports);
        let start = Instant::now();
        sender.send(progress(3.0)).await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let Report::Progress(Progress { progress, .. }) = reported.next().await else {
                panic!("a log line")
            };
            seen.push((progress, start.elapsed().as_secs()));
        }
        // Less than what was sent to fill the pauses.
        sender.send(progress(4.0)).await.unwrap();
        let Report::Progress(Progress { progress, .. }) = reported.next().await else { panic!("a log line") };
        assert_eq!((&seen[..], progress), (&[(3.0, 0), (4.0, 9), (5.0, 18)][..], 6.0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_filled_pause_does_not_come_nearer_to_a_total() {
        let (sender, mut reports) = mpsc::channel(8);
        let mut reported = Reported::new(&mut reports);
        let report = Progress { progress: 3.0, total: Some(10.0), message: None };
        sender.send(Report::Progress(report)).await.unwrap();
        reported.next().await;
        let Report::Progress(Progress { progress, total, .. }) = reported.next().await else {
            panic!("a log line")
        };
        assert!(3.0 < progress && progress < 4.0 && total == Some(10.0), "{progress} of {total:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn log_lines_do_not_count_as_progress() {
        let (sender, mut reports) = mpsc::channel(8);
        let mut reported = Reported::new(&mut reports);
        let start = Instant::now();
        let line = RawValue::from_string("{}".to_owned()).unwrap();
        tokio::time::sleep(MAX_PAUSE / 2).await;
        sender.send(Report::Log(line)).await.unwrap();
        assert!(matches!(reported.next().await, Report::Log(_)));
        assert!(matches!(reported.next().await, Report::Progress(_)));
        assert_eq!(start.elapsed(), MAX_PAUSE);
    }
}
