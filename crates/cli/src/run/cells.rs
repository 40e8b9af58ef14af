//! Runs the cells, and tells the person how it goes.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use workspace::{Kernel, Run, RunState, SaveStatus, Session};

use super::Ended;
use super::log::Log;
use super::preparation::Prepared;
use crate::args::RunNotebook;
use crate::terminal::{self, say};

/// How long an interrupted cell may take to end.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn run_cells(
    session: &Session,
    options: &RunNotebook,
    prepared: &Prepared,
    kernel: &dyn Kernel,
    interruption: &CancellationToken,
) -> anyhow::Result<Ended> {
    let Prepared { target, notebook, cells, .. } = prepared;
    let began = Instant::now();
    let mut log = Log::new(cells.len());
    let (mut done, mut ended, mut saved) = (0, Ended::Whole, None);
    for index in cells {
        let cell = &notebook.cells()[*index];
        let run = session.run(target.clone(), Some(cell.id().clone()), cell.source().into_owned())?;
        let name = prepared.name(*index);
        log.begin(&name, &cell.first_line());
        tokio::select! {
            () = run.settled() => {}
            () = limit(options.timeout) => {
                log.say(&format!("{name} took longer than the --timeout"));
            }
            () = interruption.cancelled() => ended = Ended::Interrupted,
        }
        let is_stopped = !run.state().is_over();
        if is_stopped {
            if let RunState::WaitingForInput { .. } = run.state() {
                log.say(&format!("{name} asks for input, which nobody gives here"));
            }
            stop(session, &run).await;
        }
        log.end(&name, &run);
        saved = run.view().saved.or(saved);
        if ended == Ended::Interrupted {
            break;
        }
        let may_fail = cell.tags().iter().any(|tag| tag == "raises-exception");
        // Code may catch the interrupt, or go on all the same.
        if is_stopped || run.state().is_failure() && !may_fail {
            ended = Ended::Failed;
            // In another kernel, the rest would run without what came before.
            let is_other = kernel.is_gone() || matches!(run.state(), RunState::KernelDied { .. });
            if !options.keep_going || is_other || !run.state().is_over() {
                break;
            }
        } else {
            done += 1;
        }
    }
    if let Some(status @ SaveStatus::NotYet(_)) = saved {
        log.say(&format!("the last outputs are {status}"));
    }
    log.finish();
    let path = terminal::path(options.output.as_ref().unwrap_or(&options.path));
    let (count, seconds) = (cells.len(), began.elapsed().as_secs_f64());
    say(&format!("{path}: {done} of {count} cells ran; {seconds:.1} s"))?;
    Ok(ended)
}

async fn stop(session: &Session, run: &Run) {
    if let Err(error) = session.workspace().runner().interrupt_run(run).await {
        tracing::warn!(%error, "the cell was not interrupted");
    }
    let _ = tokio::time::timeout(INTERRUPT_TIMEOUT, run.ended()).await;
}

async fn limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}
