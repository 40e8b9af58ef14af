//! `cellbridge run`: runs a notebook from a terminal, in a fresh kernel.

mod cells;
mod log;
mod parameters;
mod preparation;

use std::process::ExitCode;

use anyhow::bail;
use notebook::Edit;
use place::{Executor, KernelChoice, KernelRequest, KernelSelector, NotebookPath, progress};
use runs::OpenNotebook;
use tokio_util::sync::CancellationToken;
use workspace::Session;

use crate::args::RunNotebook;
use crate::command_session::{self, Named};
use crate::endpoint::interruption;
use crate::process::process_env;
use crate::view;
use cells::run_cells;
pub(crate) use cells::stop;
use preparation::{check_output, check_writable, choose, prepare};
use terminal::note;

/// How a notebook ran. Each has an exit status of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    Failed,
    Interrupted,
}

pub(crate) async fn run(options: &RunNotebook) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::from(match run_notebook(options).await? {
        Ended::Whole => 0,
        Ended::Failed => 1,
        Ended::Interrupted => 130,
    }))
}

async fn run_notebook(options: &RunNotebook) -> anyhow::Result<Ended> {
    let source = Named::existing(&options.path)?;
    let output = options.output.as_deref().map(Named::to_be_written).transpose()?;
    match &output {
        Some(output) => check_output(output, &source)?,
        None => check_writable(&source)?,
    }
    if options.open {
        view::show(options.output.as_deref().filter(|output| output.exists()).unwrap_or(&options.path)).await;
    }
    let named: Vec<&Named> = [&source].into_iter().chain(&output).collect();
    let history = options.recording.folder(&process_env());
    let (session, paths) = command_session::session(&named, &options.places, history)?;
    let interruption = interruption();
    let target = output.as_ref().zip(paths.get(1));
    let running = run_in(&session, options, &paths[0], target, &interruption);
    let running = session.acting("cellbridge run", running);
    let ended = progress::follow(running, |line| note(&format!("cellbridge: {line}"))).await;
    session.workspace().shutdown().await;
    ended
}

/// Runs `source`; its outputs go into `target` if there is one.
async fn run_in(
    session: &Session,
    options: &RunNotebook,
    source: &NotebookPath,
    target: Option<(&Named, &NotebookPath)>,
    interruption: &CancellationToken,
) -> anyhow::Result<Ended> {
    let chosen = tokio::select! {
        chosen = choose(session, options, source) => chosen?,
        () = interruption.cancelled() => return Ok(Ended::Interrupted),
    };
    let source = &chosen.source;
    // In the folder of the notebook, wherever its outputs go.
    let request = KernelRequest {
        notebook: Some(source.path().clone()),
        kernel: KernelSelector::Scratch(options.kernel.clone()),
        is_for_run: true,
        preferred: chosen.notebook.wanted_kernelspec(),
        folder: None,
    };
    // Not cut short: a place that has begun to start a kernel could not end it.
    let KernelChoice::Kernel { kernel, .. } = source.place().kernel(request).await? else {
        bail!("there is no kernel for it");
    };
    // Its start does not count for the first cell.
    let executor = tokio::select! {
        ready = kernel.executor() => ready?,
        () = interruption.cancelled() => return Ok(Ended::Interrupted),
    };
    for line in kernel.introduction() {
        note(&format!("cellbridge: {line}"));
    }
    // Only now: without a kernel, what is there stays.
    let prepared = tokio::select! {
        prepared = prepare(session, options, chosen, target) => prepared?,
        () = interruption.cancelled() => return Ok(Ended::Interrupted),
    };
    session.use_kernel(&prepared.target, kernel.clone());
    let ended = run_cells(session, options, &prepared, &*kernel, interruption).await;
    save_widgets(&prepared.target, &*executor).await;
    ended
}

/// Keeps the state of all widgets in the notebook, as nbclient does.
async fn save_widgets(target: &OpenNotebook, executor: &dyn Executor) {
    let Some(widgets) = executor.widget_state().await else { return };
    let edit = Edit::SetMetadata { name: "widgets".to_owned(), value: Some(widgets) };
    if let Err(error) = target.document().apply(vec![edit], Vec::new()).await {
        note(&format!("cellbridge: the state of the widgets is not in the notebook: {error}"));
    }
}
