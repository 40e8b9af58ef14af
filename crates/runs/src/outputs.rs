//! Writes the outputs of runs into their cells.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::{saved_widgets, shown_widgets, uses_model};
use notebook::{Cell, CellId, Edit, Json, Kernelspec, Notebook, Output, RUN_TIMES};
use operations::OperationKind;
use place::{Document, Error, Executor, Kernel};
use recorder::{RecordedEdit, actor};
use serde_json::json;
use tokio::time::sleep;

use crate::open_notebook::OpenNotebook;
use crate::run::Run;

/// The least time between two writes of a run's outputs.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// The same for a live notebook, which people watch.
const LIVE_WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// A run that writes much spends at most one part in this many on writing.
const WRITING_SHARE: u32 = 10;
/// The most time between two writes, however slow a write was.
const MAX_WRITE_PAUSE: Duration = Duration::from_secs(10);

/// The longest stream that a file gets, in bytes.
const MAX_STREAM: usize = 50_000_000;

/// Outputs that are stored.
pub(crate) struct Written {
    pub(crate) edits: Vec<Edit>,
    /// The notebook afterwards.
    pub(crate) notebook: Notebook,
}

/// Writes the outputs so far from time to time, until the run is over.
pub(crate) async fn write_while_running(document: &dyn Document, run: &Run) {
    let mut changes = run.changes();
    if !run.cell_outputs().is_empty() {
        // They came before this began, and the run may be silent for long.
        changes.mark_changed();
    }
    let shortest = if document.is_live() { LIVE_WRITE_INTERVAL } else { WRITE_INTERVAL };
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
        let Some(outputs) = outputs(run) else { continue };
        let begun = Instant::now();
        let shown = document.show(vec![outputs]).await;
        pause = (begun.elapsed() * WRITING_SHARE).clamp(shortest, MAX_WRITE_PAUSE);
        // The run may be silent for long after this, so what was not shown is shown later without new output.
        match shown {
            Ok(true) => {}
            // The document is being connected again.
            Ok(false) => changes.mark_changed(),
            Err(error) => {
                tracing::warn!(run = %run.id(), %error, "outputs could not be shown");
                changes.mark_changed();
                pause = MAX_WRITE_PAUSE;
            }
        }
    }
}

/// Writes the last outputs, and the metadata of the kernel that the notebook lacks. Returns and fails as [`write`] does.
pub(crate) async fn write_end(
    notebook: &OpenNotebook,
    run: &Run,
    before: Option<&Notebook>,
    kernel: &dyn Kernel,
    executor: &dyn Executor,
) -> Result<Option<Written>, Error> {
    let mut edits = Vec::new();
    if let Ok(present) = notebook.document().snapshot().await {
        let cell = run.cell().and_then(|cell| present.cell(&cell.id));
        if cell.is_some_and(|(_, cell)| cell.source() != run.source()) {
            run.note("The cell was changed after this run was requested; the earlier source ran.");
        }
        if present.kernelspec().is_none() {
            let kernel = kernel.description();
            edits.push(Edit::set_kernelspec(&Kernelspec {
                name: kernel.name,
                display_name: Some(kernel.display_name),
                language: Some(kernel.language),
            }));
        }
        if present.language().is_none() || present.metadata().member("language_info").is_none() {
            edits.push(Edit::set_language_info(executor.language_info()));
        }
    }
    write(notebook, run, before, edits).await
}

pub(crate) async fn set_running(notebook: &OpenNotebook, cell: &CellId, is_running: bool) {
    if let Err(error) = notebook.document().set_running(cell, is_running).await {
        tracing::debug!(%cell, %error, "cannot show others that the cell runs");
    }
}

/// The outputs so far as an edit; `None` if they no longer belong to the cell. A running cell has no number yet: front
/// ends take a cell with a number for finished.
pub(crate) fn outputs(run: &Run) -> Option<Edit> {
    let cell = run.cell().filter(|_| !run.with(|it| it.is_detached))?;
    let view = run.view();
    let execution_count = view.execution_count.filter(|_| view.state.is_over());
    Some(Edit::SetOutputs { id: cell.id.clone(), outputs: cut(run.cell_outputs()), execution_count })
}

/// Whether a file gets only a part of this.
pub(crate) fn is_cut(output: &Output) -> bool {
    matches!(output, Output::Stream { text, .. } if text.len() > MAX_STREAM)
}

/// The outputs without the middle of streams that are so long that no program opens the file. The run has all of it.
fn cut(outputs: Arc<[Output]>) -> Arc<[Output]> {
    if !outputs.iter().any(is_cut) {
        return outputs;
    }
    let cut = |output: &Output| match output {
        Output::Stream { name, text } if is_cut(output) => {
            let text = text.as_str();
            let end = text.floor_char_boundary(MAX_STREAM / 2);
            let start = text.ceil_char_boundary(text.len() - MAX_STREAM / 2);
            let mark = format!("\n[{} MB were left out here]\n", (start - end) / 1_000_000);
            let text = [&text[..end], &mark, &text[start..]].concat();
            Output::Stream { name: name.clone(), text: text.as_str().into() }
        }
        output => output.clone(),
    };
    outputs.iter().map(cut).collect()
}

/// Says which cells show what `Output` widgets have taken of a run.
pub(crate) async fn note_captured(notebook: &OpenNotebook, run: &Run) {
    let (models, has_own) = run.captured_by();
    if models.is_empty() {
        return;
    }
    let Ok(now) = notebook.document().snapshot().await else { return };
    let widgets = now.metadata().member("widgets");
    let what = if has_own { "The last output" } else { "This output" };
    for model in models {
        let shows = |cell: &Cell| uses_model(widgets.as_ref(), &shown_widgets(&*cell.outputs()), &model);
        run.note(match now.cells().iter().position(shows) {
            Some(index) => format!("{what} went into the Output widget of cell {index}."),
            None => format!("{what} went into an Output widget that no cell shows."),
        });
    }
}

/// The outputs of a run in place of former ones, to be recorded.
pub fn change_by(
    notebook: &OpenNotebook,
    run: &Run,
    before: Notebook,
    after: Notebook,
    edits: Vec<Edit>,
) -> RecordedEdit {
    RecordedEdit {
        notebook: notebook.place().identity(notebook.path()),
        actor: actor::current(),
        before,
        after,
        edits,
        kind: OperationKind::Change { runs: vec![run.id().clone()] },
        checkpoint: None,
    }
}

/// Stores the outputs, after `edits`; with the times of the run, if the cell has such times now or had them `before`. Returns what was written; `None` if the outputs no longer belong to the cell, or it was deleted.
/// Fails, and notes that, if the notebook cannot be written.
pub(crate) async fn write(
    notebook: &OpenNotebook,
    run: &Run,
    before: Option<&Notebook>,
    mut edits: Vec<Edit>,
) -> Result<Option<Written>, Error> {
    let Some(outputs) = outputs(run) else { return Ok(None) };
    let present = notebook.document().snapshot().await.ok();
    if let (Some(present), Some(cell)) = (&present, run.cell())
        && present.cell(&cell.id).is_none()
    {
        if run.state().is_over() {
            run.note("The cell was deleted while it ran; its outputs are in this reply only.");
        }
        return Ok(None);
    }
    let widgets = present.as_ref().and_then(|present| widgets(present, run, &outputs));
    let times = [present.as_ref(), before].into_iter().flatten().find_map(|notebook| times(notebook, run));
    edits.push(outputs);
    // The state of widgets is recorded with the outputs, whoever else changes it, and times are no change.
    let all = edits.iter().cloned().chain(widgets).chain(times).collect();
    let applied = notebook.document().apply(all, Vec::new()).await;
    let applied = applied.inspect_err(|error| not_stored(run, error))?;
    let cell = run.cell().and_then(|cell| applied.notebook.cell(&cell.id));
    let digest = cell.map(|(_, cell)| cell.outputs_digest());
    run.with(|it| (it.saved, it.stored_outputs) = (Some(applied.saved), digest));
    Ok(Some(Written { edits, notebook: applied.notebook }))
}

/// The times of a run, for a cell that has those of an earlier one.
fn times(notebook: &Notebook, run: &Run) -> Option<Edit> {
    let (_, cell) = notebook.cell(&run.cell()?.id)?;
    cell.metadata().member(RUN_TIMES)?;
    let patch = Json::from_value(&json!({ RUN_TIMES: run.times() }));
    Some(Edit::MergeMetadata { id: cell.id().clone(), patch })
}

/// The state of the widgets that cells show, as Jupyter saves it in the notebook's metadata; `None` if it stays as it is.
fn widgets(present: &Notebook, run: &Run, outputs: &Edit) -> Option<Edit> {
    let Edit::SetOutputs { id, outputs, .. } = outputs else { return None };
    let (state, metadata) = (run.with(|it| it.area.widget_state().cloned()), present.metadata());
    let saved = metadata.member("widgets");
    if state.is_none() && saved.is_none() {
        return None;
    }
    let others =
        present.cells().iter().filter(|cell| cell.id() != id).flat_map(|cell| shown_widgets(&cell.outputs()));
    let shown: Vec<String> = others.chain(shown_widgets(&**outputs)).collect();
    let value = saved_widgets(saved.as_ref(), state.as_ref(), &shown);
    (value != saved).then(|| Edit::SetMetadata { name: "widgets".to_owned(), value })
}

/// Says why the outputs of a run are not in its notebook.
pub(crate) fn not_stored(run: &Run, error: &Error) {
    tracing::warn!(run = %run.id(), %error, "outputs could not be stored");
    if run.state().is_over() {
        run.note(format!("The outputs could not be stored in the notebook: {error}"));
    }
}

#[cfg(test)]
mod tests;
