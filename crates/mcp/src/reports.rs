//! Runs a call to its end while what it reports goes to the agent: progress under the agent's own token, and
//! the page's log.

use rmcp::model::{
    CustomNotification, LoggingLevel, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use workspace::{Answer, Error, Progress, Report};

/// The reports that may wait for a slow agent before further ones are dropped.
pub(crate) const WAITING_REPORTS: usize = 4096;

/// What an agent wants to be told.
pub(crate) struct Audience<'a> {
    pub(crate) peer: &'a Peer<RoleServer>,
    /// The token under which progress is reported.
    pub(crate) token: Option<ProgressToken>,
    /// The least level of log lines; `None` in the 2026-07-28 era, where agents opt in to none of ours.
    pub(crate) level: Option<LoggingLevel>,
}

impl Audience<'_> {
    /// Waits for `call` and passes on what `reports` tells meanwhile, all of it before the answer.
    pub(crate) async fn follow(
        &self,
        call: impl Future<Output = Result<Answer, Error>>,
        mut reports: mpsc::Receiver<Report>,
    ) -> Result<Answer, Error> {
        tokio::pin!(call);
        let answer = loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => self.tell(report).await,
                answer = &mut call => break answer,
            }
        };
        while let Ok(report) = reports.try_recv() {
            self.tell(report).await;
        }
        answer
    }

    async fn tell(&self, report: Report) {
        // An agent that has gone needs no reports.
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
        if rank(level) < rank(self.level?) {
            return None;
        }
        let params = serde_json::from_str(params.get()).ok();
        Some(ServerNotification::CustomNotification(CustomNotification::new("notifications/message", params)))
    }
}

/// The levels of RFC 5424 in their order.
fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
