//! Sends an agent what its call reports: progress under the agent's token, and the page's log.

use rmcp::model::{
    CustomNotification, LoggingLevel, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use workspace::{Error, Progress, Report};

use crate::tool_call::Reply;

/// How many reports are queued for a slow agent before further ones are dropped.
pub(crate) const MAX_QUEUED_REPORTS: usize = 4096;

/// An agent that waits for a call, and what it wants to be sent.
pub(crate) struct Audience<'a> {
    pub(crate) peer: &'a Peer<RoleServer>,
    /// The token under which progress is reported.
    pub(crate) token: Option<ProgressToken>,
    /// The lowest level of log lines; `None` in the 2026-07-28 era, where agents opt in to none of ours.
    pub(crate) level: Option<LoggingLevel>,
}

impl Audience<'_> {
    /// Waits for `call`; sends all `reports` before the answer.
    pub(crate) async fn follow(
        &self,
        call: impl Future<Output = Result<Reply, Error>>,
        mut reports: mpsc::Receiver<Report>,
    ) -> Result<Reply, Error> {
        tokio::pin!(call);
        let answer = loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => self.send(report).await,
                answer = &mut call => break answer,
            }
        };
        while let Ok(report) = reports.try_recv() {
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
