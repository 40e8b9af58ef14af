//! Whether a notebook that runs again, from a fresh kernel, says what it says now.
//!
//! Its code cells run in order in a kernel of their own, in the notebook's folder. The notebook, its file and its kernel are not
//! touched, but what the code does to files, databases and networks happens again. Where outputs differ, everything runs once
//! more: equal reruns mean that the saved outputs are stale or the environment has changed, unequal ones that the code is not
//! deterministic.

mod cells;
mod compare;
mod imports;
mod report;
mod rerun;
mod verdict;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use kernel::Event;
use notebook::{CellId, Edit, Json, Notebook, Output, one_line};
use place::{Error, Expected, RunState, progress};
use recorder::Recorder;
use runs::{OpenNotebook, Run, Runner, Slot};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use self::compare::Rerun;
pub use self::imports::MissingModule;
use self::rerun::{Ran, Subject, rerun};
pub use self::verdict::{CellVerdict, Conclusion, Verdict, Verification};

/// How many links that are left out of a copy are named.
const MAX_LINKS: usize = 5;

/// What is verified, and how.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// The indices of the cells whose outputs are compared; `None` for all. All code cells above them run, too.
    pub cells: Option<BTreeSet<usize>>,
    /// How long each cell may take.
    pub cell_timeout: Duration,
    /// The fresh outputs replace the saved ones, if no cell fails.
    pub apply: bool,
    /// The code works in a copy of the notebook's folder, so that files stay as they are.
    pub in_copy: bool,
    /// What runs, if somebody was shown it; `None` for the notebook as it is then.
    pub notebook: Option<Notebook>,
}

/// A verification that has started.
pub struct Verifying {
    /// Its output will be the answer for an agent. To interrupt it ends the verification.
    pub run: Arc<Run>,
    /// The answer for a program. It does not come if the run is interrupted.
    pub answer: oneshot::Receiver<Result<Verification, Error>>,
}

/// Verifies a notebook in kernels of its own, as a run that holds `slot`. Never waits.
pub fn start(
    runner: &Arc<Runner>,
    notebook: Arc<OpenNotebook>,
    options: VerifyOptions,
    slot: Slot,
) -> Verifying {
    let run = runner.journal().begin(None, format!("verify {}", notebook.path()));
    run.span().record("cellbridge.notebook.path", notebook.path().as_str());
    let (sender, answer) = oneshot::channel();
    let (runner_of_task, verified, reports) = (runner.clone(), run.clone(), progress::sender());
    let verifying = async move {
        verify_in(verified, notebook, options, reports, sender, runner_of_task.recorder()).await;
    };
    runner.spawn(slot, verifying.instrument(run.span()));
    Verifying { run, answer }
}

/// Verifies as a task of `run`, which nobody else ends but by interrupting it.
async fn verify_in(
    run: Arc<Run>,
    notebook: Arc<OpenNotebook>,
    options: VerifyOptions,
    lines: Option<tokio::sync::mpsc::Sender<String>>,
    answer: oneshot::Sender<Result<Verification, Error>>,
    recorder: Option<&Recorder>,
) {
    run.on_event(Event::Started { execution_count: None });
    let report = move |line: String| {
        if let Some(lines) = &lines {
            let _ = lines.try_send(line);
        }
    };
    let verified = verify(&run, &notebook, &options, &report, recorder).await;
    if run.state().is_over() {
        // It was interrupted.
        run.close();
        return;
    }
    match &verified {
        Ok((verification, notes)) => {
            let details = verification.details();
            if !details.is_empty() {
                let text = format!("{details}\n").as_str().into();
                let output = Output::Stream { name: "stdout".to_owned(), text };
                run.on_event(Event::Output { output, display_id: None });
            }
            // A note is never cut, and no output can be mistaken for it.
            run.note(verification.sentence());
            for note in notes {
                run.note(note.clone());
            }
            run.end(RunState::Done);
        }
        Err(error) => run.end(RunState::Failed(error.clone())),
    }
    run.close();
    let _ = answer.send(verified.map(|(verification, _)| verification));
}

/// The verification, and its further notes.
async fn verify(
    run: &Run,
    notebook: &OpenNotebook,
    options: &VerifyOptions,
    report: &(dyn Fn(String) + Send + Sync),
    recorder: Option<&Recorder>,
) -> Result<(Verification, Vec<String>), Error> {
    let (timer, start) = (Instant::now(), SystemTime::now());
    let saved = match &options.notebook {
        Some(shown) => shown.clone(),
        None => notebook.document().snapshot().await?,
    };
    let (cells, skipped) = cells::checked(&saved, options.cells.as_ref());
    let subject = Subject {
        place: notebook.place().clone(),
        path: notebook.path().clone(),
        kernelspec: notebook.kernel().map(|kernel| kernel.description().name),
        preferred: saved.wanted_kernelspec(),
        in_copy: options.in_copy,
    };
    let count = cells.len();
    let on_cell = |position: usize| report(format!("cell {} of {count}", position + 1));
    let ran = rerun(run, &subject, &cells, options.cell_timeout, &on_cell).await?;
    let made = || {
        let sources = cells.iter().map(|cell| cell.source.as_str());
        Rerun::new(start..SystemTime::now(), sources)
    };
    let again = if verdict::differs(&cells, &ran, &made()) {
        let on_cell = |position: usize| report(format!("once more: cell {} of {count}", position + 1));
        Some(rerun(run, &subject, &cells[..ran.passed()], options.cell_timeout, &on_cell).await?)
    } else {
        None
    };
    let mut verification = Verification {
        cells: verdict::verdicts(&cells, &ran, again.as_ref(), &made()),
        skipped,
        errors: verdict::errors(&ran),
        not_applied: Vec::new(),
        missing: ran.missing.clone(),
        runtime: ran.runtime.clone(),
        introduction: ran.introduction.clone(),
        elapsed: timer.elapsed(),
    };
    let mut notes = Vec::new();
    if !ran.left_out.is_empty() {
        let links: Vec<_> = ran.left_out.iter().take(MAX_LINKS).map(|link| one_line(link)).collect();
        let more = ran.left_out.len() - links.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!(
            "Links that lead out of the folder are not in the copy: {}{more}.",
            links.join(", ")
        ));
    }
    if options.apply && verification.conclusion() != Conclusion::Fails {
        let fresh = fresh_outputs(&saved, &ran, &verification);
        let (applied, not_applied) = apply(notebook, run, fresh, ran.widgets, recorder).await?;
        verification.not_applied = not_applied;
        notes.push(applied);
    }
    Ok((verification, notes))
}

/// The fresh outputs in place of those that differ, each with the cell as it must still be.
fn fresh_outputs(saved: &Notebook, ran: &Ran, verification: &Verification) -> Vec<(Edit, Expected)> {
    let mut fresh = Vec::new();
    for (position, verdict) in verification.cells.iter().enumerate() {
        if matches!(verdict.verdict, Verdict::Identical | Verdict::Close { .. } | Verdict::NotCompared) {
            continue;
        }
        let Some((_, cell)) = saved.cell(&verdict.id) else { continue };
        let count = u64::try_from(position).ok().map(|position| position + 1);
        let outputs = ran.outputs[position].clone().into();
        let edit = Edit::SetOutputs { id: cell.id().clone(), outputs, execution_count: count };
        fresh.push((edit, Expected::unchanged(cell)));
    }
    fresh
}

/// Writes the fresh outputs, as one operation. Returns what to say of it, and the cells that were left alone because somebody has
/// changed, deleted or run them since.
async fn apply(
    notebook: &OpenNotebook,
    run: &Run,
    fresh: Vec<(Edit, Expected)>,
    widgets: Option<Json>,
    recorder: Option<&Recorder>,
) -> Result<(String, Vec<CellId>), Error> {
    let before = notebook.document().snapshot().await?;
    let (fresh, changed): (Vec<_>, Vec<_>) =
        fresh.into_iter().partition(|(_, expected)| expected.check(&before).is_ok());
    let changed = changed.into_iter().map(|(_, expected)| expected.id).collect();
    let (edits, expected): (Vec<_>, Vec<_>) = fresh.into_iter().unzip();
    if edits.is_empty() {
        return Ok(("There were no other outputs to apply.".to_owned(), changed));
    }
    let count = edits.len();
    // The state of widgets is recorded with the outputs, whoever else changes it.
    let all = edits.iter().cloned().chain(widgets_after(&before, &edits, widgets)).collect();
    let applied = notebook.document().apply(all, expected).await?;
    if let Some(recorder) = recorder {
        recorder.record(runs::change_by(notebook, run, before, applied.notebook, edits));
    }
    Ok((format!("The fresh outputs of {count} cells were applied; {}.", applied.saved), changed))
}

/// The state of the widgets that a notebook shows after these edits, of which `fresh` has all of the kernel. `None` if it shows none, or
/// one of another kernel, whose saved state must stay.
fn widgets_after(before: &Notebook, edits: &[Edit], fresh: Option<Json>) -> Option<Edit> {
    let fresh = fresh?;
    let new = |id: &CellId| {
        edits.iter().find_map(|edit| match edit {
            Edit::SetOutputs { id: of, outputs, .. } if of == id => Some(outputs),
            _ => None,
        })
    };
    let shown: Vec<String> = before
        .cells()
        .iter()
        .flat_map(|cell| match new(cell.id()) {
            Some(outputs) => kernel::shown_widgets(&**outputs),
            None => kernel::shown_widgets(&cell.outputs()),
        })
        .collect();
    let are_known = !shown.is_empty() && kernel::has_models(&fresh, &shown);
    are_known.then(|| Edit::SetMetadata { name: "widgets".to_owned(), value: Some(fresh) })
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, MimeBundle, NewCell};
    use serde_json::json;

    use super::*;

    fn view(model: &str) -> Output {
        let data =
            Json::from_value(&json!({ "application/vnd.jupyter.widget-view+json": { "model_id": model } }));
        Output::Display(MimeBundle { data, metadata: Json::empty_object() })
    }

    #[test]
    fn widgets_are_saved_with_the_outputs_that_show_them() {
        let mut notebook = Notebook::new();
        for index in 0..2 {
            notebook.apply(&Edit::Insert { index, cell: NewCell::new(CellType::Code, "") }).unwrap();
        }
        let set = |index: usize, model: &str, notebook: &Notebook| Edit::SetOutputs {
            id: notebook.cells()[index].id().clone(),
            outputs: vec![view(model)].into(),
            execution_count: None,
        };
        let state =
            json!({ "application/vnd.jupyter.widget-state+json": { "state": { "a": {}, "unseen": {} } } });
        let fresh = || Some(Json::from_value(&state));
        assert!(widgets_after(&notebook, &[], fresh()).is_none());
        let edits = [set(0, "a", &notebook)];
        assert!(widgets_after(&notebook, &edits, None).is_none());
        assert!(
            matches!(widgets_after(&notebook, &edits, fresh()), Some(Edit::SetMetadata { value, .. }) if value == fresh())
        );
        let old = set(1, "b", &notebook);
        notebook.apply(&old).unwrap();
        assert!(
            widgets_after(&notebook, &edits, fresh()).is_none(),
            "the other cell shows one of an earlier kernel"
        );
    }
}
