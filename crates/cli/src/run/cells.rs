//! Runs the cells, and tells the person how it goes.

use std::time::{Duration, Instant};

use anyhow::bail;
use place::{Kernel, RunState, SaveStatus};
use runs::{CellTags, InSeries, Run};
use tokio_util::sync::CancellationToken;
use workspace::Session;

use super::Ended;
use super::log::Log;
use super::preparation::Prepared;
use crate::args::RunNotebook;
use terminal::say;

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
    let (mut done, mut ended, mut saved, mut is_stored) = (0, Ended::Whole, None, true);
    for (position, index) in cells.iter().enumerate() {
        let cell = &notebook.cells()[*index];
        let series = InSeries { may_fail: CellTags::of(cell).may_fail, is_next: position > 0 };
        let (id, source) = (cell.id().clone(), cell.source().into_owned());
        let run = session.run_as(target.clone(), Some(id), source, Some(series))?;
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
                log.say(&format!("{name} asks for input, which is not available here"));
            }
            stop(session, &run).await;
        }
        log.end(&name, &run, |note| prepared.renumbered(note));
        let run_saved = run.view().saved;
        is_stored &= run_saved.is_some();
        saved = run_saved.or(saved);
        if ended == Ended::Interrupted {
            break;
        }
        // Code may catch the interrupt, or go on all the same.
        if is_stopped || run.has_failed() {
            ended = Ended::Failed;
            // In another kernel, the rest would run without what came before.
            let is_other = kernel.is_gone() || matches!(run.state(), RunState::KernelDied { .. });
            if !options.keep_going || is_other || !run.state().is_over() {
                break;
            }
        } else {
            done += 1;
        }
        if run.asks_to_exit() && position + 1 < cells.len() {
            log.say(&format!("{name} asked the kernel to exit: the rest did not run"));
            ended = Ended::Failed;
            break;
        }
    }
    if let Some(status @ SaveStatus::NotYet(_)) = saved {
        log.say(&format!("the last outputs are {status}"));
    }
    log.finish();
    let path = terminal::path(options.output.as_ref().unwrap_or(&options.path));
    let (count, seconds) = (cells.len(), began.elapsed().as_secs_f64());
    say(&format!("{path}: {done} of {count} cells ran; {seconds:.1} s"))?;
    if !is_stored && ended == Ended::Whole {
        bail!("{path}: outputs could not be written");
    }
    Ok(ended)
}

/// Interrupts a run, and waits a while for its end. `false` if it does not end.
pub(crate) async fn stop(session: &Session, run: &Run) -> bool {
    if let Err(error) = session.workspace().runner().interrupt_run(run).await {
        tracing::warn!(%error, "the code was not interrupted");
    }
    tokio::time::timeout(INTERRUPT_TIMEOUT, run.ended()).await.is_ok()
}

async fn limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}
