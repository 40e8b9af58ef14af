//! Writes the outputs of runs into their cells.

use std::time::{Duration, Instant};

use kernel::Client;
use notebook::{CellId, Edit, Kernelspec};
use tokio::time::sleep;

use super::run::Run;
use crate::open_notebook::OpenNotebook;
use crate::place::Kernel;

/// The least time between two writes of a run's outputs.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// The same for a live notebook, which people watch.
const LIVE_WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// A run that writes much spends at most one part in this many on writing.
const WRITING_SHARE: u32 = 10;

/// Writes the outputs so far from time to time, until the run is over.
pub(super) async fn write_while_running(notebook: &OpenNotebook, run: &Run) {
    let mut changes = run.changes();
    let shortest = if notebook.document().is_live() { LIVE_WRITE_INTERVAL } else { WRITE_INTERVAL };
    let mut pause = shortest;
    loop {
        tokio::select! {
            () = run.over() => return,
            () = sleep(pause) => {}
        }
        if !changes.has_changed().unwrap_or(false) {
            continue;
        }
        changes.mark_unchanged();
        let begun = Instant::now();
        if let Some(outputs) = outputs(run) {
            match notebook.document().show(vec![outputs]).await {
                Ok(true) => {}
                // The document is being connected again; the run may be silent for long after that.
                Ok(false) => changes.mark_changed(),
                Err(error) => tracing::warn!(run = %run.id(), %error, "outputs could not be shown"),
            }
        }
        pause = shortest.max(begun.elapsed() * WRITING_SHARE);
    }
}

/// Writes the last outputs, and the metadata of the kernel that the notebook lacks.
pub(super) async fn write_end(notebook: &OpenNotebook, run: &Run, kernel: &dyn Kernel, client: &Client) {
    let mut edits = Vec::new();
    if let Ok(present) = notebook.document().snapshot().await {
        if present.kernelspec().is_none() {
            let kernel = kernel.description();
            edits.push(Edit::SetKernelspec(Kernelspec {
                name: kernel.name,
                display_name: Some(kernel.display_name),
                language: Some(kernel.language),
            }));
        }
        if present.language().is_none() || !has_language_info(&present.metadata()) {
            edits.push(Edit::SetLanguageInfo(client.language_info().clone()));
        }
    }
    write(notebook, run, edits).await;
}

fn has_language_info(metadata: &notebook::Json) -> bool {
    metadata.member("language_info").is_some()
}

pub(super) async fn set_running(notebook: &OpenNotebook, cell: &CellId, is_running: bool) {
    if let Err(error) = notebook.document().set_running(cell, is_running).await {
        tracing::debug!(%cell, %error, "cannot show others that the cell runs");
    }
}

/// The outputs so far as an edit; `None` if they no longer belong to the cell. A running cell has no number yet: front
/// ends take a cell with a number for finished.
fn outputs(run: &Run) -> Option<Edit> {
    let cell = run.cell().filter(|_| !run.is_detached())?;
    let view = run.view();
    let execution_count = view.execution_count.filter(|_| view.state.is_over());
    Some(Edit::SetOutputs { id: cell.id.clone(), outputs: view.outputs, execution_count })
}

/// Stores the outputs, after `edits`.
pub(super) async fn write(notebook: &OpenNotebook, run: &Run, mut edits: Vec<Edit>) {
    let Some(outputs) = outputs(run) else { return };
    edits.push(outputs);
    match notebook.document().apply(edits, Vec::new()).await {
        Ok(applied) => run.set_saved(applied.saved),
        Err(error) => {
            tracing::warn!(run = %run.id(), %error, "outputs could not be stored");
            if run.state().is_over() {
                run.note(format!("The outputs could not be stored in the notebook: {error}"));
            }
        }
    }
}
