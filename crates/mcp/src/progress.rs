//! Runs a call to its end while its progress goes to the agent under the agent's own token.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;
use workspace::{Answer, Error, Progress};

/// The reports that may wait for a slow agent before further ones are dropped.
pub(crate) const WAITING_REPORTS: usize = 256;

/// Waits for `call` and passes on what `reports` tells meanwhile, all of it before the answer.
pub(crate) async fn follow(
    call: impl Future<Output = Result<Answer, Error>>,
    mut reports: mpsc::Receiver<Progress>,
    token: &ProgressToken,
    peer: &Peer<RoleServer>,
) -> Result<Answer, Error> {
    tokio::pin!(call);
    let mut is_reporting = true;
    let answer = loop {
        tokio::select! {
            biased;
            report = reports.recv(), if is_reporting => match report {
                Some(report) => send(report, token, peer).await,
                None => is_reporting = false,
            },
            answer = &mut call => break answer,
        }
    };
    while let Ok(report) = reports.try_recv() {
        send(report, token, peer).await;
    }
    answer
}

async fn send(report: Progress, token: &ProgressToken, peer: &Peer<RoleServer>) {
    let mut params = ProgressNotificationParam::new(token.clone(), report.progress);
    params.total = report.total;
    params.message = report.message;
    // An agent that has gone needs no progress.
    let _ = peer.notify_progress(params).await;
}
