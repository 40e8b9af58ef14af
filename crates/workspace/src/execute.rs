//! The life of a run: its turn in the queue, the kernel, and its outputs on their way into the notebook.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kernel::{Client, Event, Execute};
use notebook::{Edit, Kernelspec};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::Instrument as _;

use crate::open_notebook::{KernelSelector, OpenNotebook};
use crate::place::{Kernel, KernelChoice, KernelState};
use crate::run::Run;
use crate::run_state::RunState;
use crate::trace;
use crate::workspace::{Workspace, no_kernel_came};
use crate::{Error, SessionId};

/// The least time between two writes of the same run's outputs.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// The same where people watch the notebook.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// A run that writes much spends at most one part in this many on writing.
const WRITING_SHARE: u32 = 10;
/// What comes within this time after the end is written at once.
const LATE: Duration = Duration::from_millis(200);
/// Lines of a preparation that may wait to be shown.
const WAITING_LINES: usize = 64;

/// Runs a cell, or code beside the cells, in the notebook's kernel.
pub(crate) async fn in_notebook(
    workspace: Arc<Workspace>,
    notebook: Arc<OpenNotebook>,
    run: Arc<Run>,
    session: SessionId,
) {
    let span = run.span();
    attempt_twice(&workspace, &notebook, &run, session).instrument(span).await;
}

async fn attempt_twice(
    workspace: &Arc<Workspace>,
    notebook: &Arc<OpenNotebook>,
    run: &Arc<Run>,
    session: SessionId,
) {
    let mut gone = None;
    loop {
        let kernel = match choose(notebook, run, session).await {
            Ok(kernel) => kernel,
            Err(error) => return run.end(RunState::Failed(error)),
        };
        match (in_kernel(workspace, kernel, run, Some(notebook)).await, gone.take()) {
            (Ok(()), _) => {
                // Its outputs, if it has a cell.
                if run.cell().is_some() {
                    notebook.changed_by(session);
                }
                return;
            }
            (Err(error), Some(_)) => return run.end(RunState::Failed(error)),
            (Err(error), None) => {
                run.note(
                    "The kernel was shut down since the last run. This one is new: the variables are gone.",
                );
                gone = Some(error);
            }
        }
    }
}

/// Chooses the notebook's kernel for a run.
async fn choose(notebook: &OpenNotebook, run: &Run, session: SessionId) -> Result<Arc<dyn Kernel>, Error> {
    let (progress, mut lines) = mpsc::channel(WAITING_LINES);
    let wish = KernelSelector::default();
    let choosing = notebook.choose(&wish, session, true, Some(progress));
    tokio::pin!(choosing);
    let choice = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => run.stage(line),
            choice = &mut choosing => break choice?,
        }
    };
    match choice {
        KernelChoice::Kernel { kernel, .. } => Ok(kernel),
        KernelChoice::OnFirstRun(_) => Err(no_kernel_came()),
    }
}

/// Runs cells one after the other, each when the one before has ended. The task ends with the last.
pub(crate) async fn in_order(
    workspace: Arc<Workspace>,
    notebook: Arc<OpenNotebook>,
    runs: Vec<Arc<Run>>,
    stops_on_error: bool,
    session: SessionId,
) {
    let mut has_failed = false;
    for run in runs {
        if has_failed && stops_on_error {
            run.note("It did not run: a cell before it failed.");
            run.end(RunState::Interrupted);
            continue;
        }
        if let (Some(cell), Ok(now)) = (run.cell(), notebook.document().snapshot().await) {
            match now.cell(&cell.id) {
                None => {
                    run.note("It did not run: the cell was deleted meanwhile.");
                    run.end(RunState::Interrupted);
                    continue;
                }
                Some((_, cell)) if cell.source() != run.source() => {
                    run.note("The cell was changed after this was asked for; what ran is what it was then.");
                }
                Some(_) => {}
            }
        }
        in_notebook(workspace.clone(), notebook.clone(), run.clone(), session).await;
        has_failed |= run.state().is_failure();
    }
}

/// Runs the code once it is its turn. The outputs go into the run, and into its cell if it has one. It fails, with
/// nothing done, if the kernel turns out to be gone.
pub(crate) async fn in_kernel(
    workspace: &Arc<Workspace>,
    kernel: Arc<dyn Kernel>,
    run: &Arc<Run>,
    notebook: Option<&Arc<OpenNotebook>>,
) -> Result<(), Error> {
    run.on(kernel.clone());
    let lane = workspace.lane(kernel.id());
    run.stage("waiting for earlier runs of the kernel");
    let Some(_turn) = lane.enter(run).await else {
        run.note("The kernel was started anew before this could run.");
        run.end(RunState::Interrupted);
        return Ok(());
    };
    if run.state().is_over() {
        return Ok(());
    }
    if let KernelState::Dead(how) = kernel.description().state {
        run.note(format!("The kernel had died ({how}) and was started anew: its variables are gone."));
    }
    run.stage("starting the kernel");
    let client = match trace::client(&*kernel).await {
        Ok(client) => client,
        Err(error) if kernel.is_gone() => return Err(error),
        Err(error) => {
            run.end(RunState::Failed(error));
            return Ok(());
        }
    };
    if lane.is_new(&client) {
        trace::connected(&lane, &kernel, &client);
    }
    // Taken back while the kernel started.
    if run.state().is_over() {
        return Ok(());
    }
    let execution = client.execute(Execute::new(run.source()), sink(workspace, run, notebook));
    run.executing(client.clone(), execution);
    match notebook.zip(run.cell()) {
        None => run.over().await,
        Some((notebook, cell)) => {
            set_running(notebook, &cell.id, true).await;
            write_while_running(notebook, run).await;
            write_end(notebook, run, &*kernel, &client).await;
            set_running(notebook, &cell.id, false).await;
        }
    }
    run.close();
    Ok(())
}

/// Writes what came after the end.
pub(crate) async fn late(workspace: Arc<Workspace>, notebook: Arc<OpenNotebook>, run: Arc<Run>) {
    sleep(LATE).await;
    run.unclaim_late();
    // A newer run of the cell owns its outputs.
    let latest = run.cell().and_then(|cell| workspace.journal().latest_of(&cell.path, &cell.id));
    if latest.is_none_or(|latest| latest.id() != run.id()) {
        return;
    }
    write(&notebook, &run, Vec::new()).await;
}

/// Takes the kernel's events into the run. It outlives the run's task: threads print when they like.
fn sink(
    workspace: &Arc<Workspace>,
    run: &Arc<Run>,
    notebook: Option<&Arc<OpenNotebook>>,
) -> Box<dyn FnMut(Event) + Send> {
    let (workspace, run) = (Arc::downgrade(workspace), Arc::downgrade(run));
    let notebook = notebook.map(Arc::downgrade);
    Box::new(move |event| {
        let Some(run) = run.upgrade() else { return };
        let is_late = run.state().is_over();
        run.take(event);
        let notebook = notebook.as_ref().and_then(Weak::upgrade).filter(|_| is_late && run.cell().is_some());
        if let (Some(notebook), Some(workspace)) = (notebook, workspace.upgrade())
            && run.claim_late()
        {
            workspace.spawn_late(notebook, run);
        }
    })
}

async fn write_while_running(notebook: &OpenNotebook, run: &Run) {
    let mut changes = run.changes();
    let shortest = if notebook.document().is_live() { SHOW_EVERY } else { WRITE_EVERY };
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
        if let Some(outputs) = outputs(run)
            && let Err(error) = notebook.document().show(vec![outputs]).await
        {
            tracing::warn!(run = %run.id(), %error, "outputs could not be shown");
        }
        pause = shortest.max(begun.elapsed() * WRITING_SHARE);
    }
}

/// Writes the last outputs, and what the notebook does not tell yet of the kernel that made them.
async fn write_end(notebook: &OpenNotebook, run: &Run, kernel: &dyn Kernel, client: &Client) {
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
        let info = client.info();
        if present.language().is_none() || !has_language_info(&present.metadata()) {
            edits.push(Edit::SetLanguageInfo(info.language_info.clone()));
        }
    }
    write(notebook, run, edits).await;
}

fn has_language_info(metadata: &notebook::Json) -> bool {
    metadata.member("language_info").is_some()
}

async fn set_running(notebook: &OpenNotebook, cell: &str, is_running: bool) {
    if let Err(error) = notebook.document().set_running(cell, is_running).await {
        tracing::debug!(cell, %error, "others do not see that the cell runs");
    }
}

/// The outputs so far as an edit; `None` if they are no longer to be stored. A cell that runs has no number yet: front
/// ends take one that has for finished.
fn outputs(run: &Run) -> Option<Edit> {
    let cell = run.cell().filter(|_| !run.is_superseded())?;
    let view = run.view();
    let execution_count = view.execution_count.filter(|_| view.state.is_over());
    Some(Edit::SetOutputs { id: cell.id.clone(), outputs: view.outputs, execution_count })
}

async fn write(notebook: &OpenNotebook, run: &Run, mut edits: Vec<Edit>) {
    let Some(outputs) = outputs(run) else { return };
    edits.push(outputs);
    match notebook.document().apply(edits, Vec::new()).await {
        Ok(applied) => run.stored(applied.saved),
        Err(error) => {
            tracing::warn!(run = %run.id(), %error, "outputs could not be stored");
            if run.state().is_over() {
                run.note(format!("The outputs could not be stored in the notebook: {error}"));
            }
        }
    }
}
