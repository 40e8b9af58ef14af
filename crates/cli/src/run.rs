//! `cellbridge run`: runs a notebook from a terminal, in a fresh kernel.

mod log;
mod parameters;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use local::{Folder, ProcessEnv};
use notebook::{CellId, Notebook};
use workspace::{
    KernelChoice, KernelRequest, KernelSelector, Mode, NotebookPath, OpenNotebook, Place as _, Run, RunState,
    Session,
};

use crate::args::RunNotebook;
use crate::operations;
use log::Log;

/// How long an interrupted cell may take to end.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a notebook ran. Each has an exit status of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    Failed,
    Interrupted,
}

pub(crate) async fn run(options: &RunNotebook) -> ExitCode {
    match run_notebook(options).await {
        Ok(Ended::Whole) => ExitCode::SUCCESS,
        Ok(Ended::Failed) => ExitCode::from(1),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cellbridge: {error:#}");
            ExitCode::from(3)
        }
    }
}

async fn run_notebook(options: &RunNotebook) -> anyhow::Result<Ended> {
    let source = absolute(&options.path)?;
    let target = match &options.output {
        None => source.clone(),
        Some(output) => {
            if dunce::canonicalize(output).ok().as_ref() != Some(&source) {
                std::fs::copy(&source, output).with_context(|| output.display().to_string())?;
            }
            absolute(output)?
        }
    };
    let root = common_folder(&source, &target).context("the notebook has no folder")?;
    let process_env = ProcessEnv::inherited(std::env::vars_os(), std::env::home_dir(), &[]);
    let history = operations::folder(&process_env);
    let folder = Folder::new(root.clone(), process_env, None);
    let history = history.filter(|_| !options.recording.no_history);
    let session = operations::person(folder.clone(), history);
    let running = async {
        let path = |file: &Path| -> anyhow::Result<NotebookPath> {
            let path = file.strip_prefix(&root)?.to_str().context("the path is not UTF-8")?;
            Ok(NotebookPath::new(path))
        };
        let opened = session.use_notebook("notebook", &path(&target)?, Mode::Connect).await?;
        let mut notebook = opened.document().snapshot().await?;
        if !options.parameters.is_empty() {
            let edits = parameters::edits(&notebook, &options.parameters)?;
            notebook = session.edit(&opened, &notebook, edits, Vec::new()).await?.notebook;
        }
        let cells = chosen(&notebook, options)?;
        // In the folder of the notebook, wherever its outputs go.
        let request = KernelRequest {
            notebook: Some(path(&source)?),
            kernel: KernelSelector::Scratch(options.kernel.clone()),
            is_for_run: true,
            preferred: notebook.kernelspec(),
            folder: None,
        };
        let KernelChoice::Kernel { kernel, .. } = folder.kernel(request).await? else {
            bail!("there is no kernel for it");
        };
        // Its start does not count for the first cell.
        kernel.executor().await?;
        session.choose_kernel(&opened, KernelSelector::Existing(kernel.id().clone())).await?;
        run_cells(&session, &opened, &notebook, cells, options).await
    };
    let ended = session.acting("cellbridge run", running).await;
    session.workspace().shutdown().await;
    ended
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    dunce::canonicalize(path).with_context(|| path.display().to_string())
}

fn common_folder(one: &Path, other: &Path) -> Option<PathBuf> {
    one.parent()?.ancestors().find(|folder| other.starts_with(folder)).map(Path::to_path_buf)
}

/// The indices of the code cells that are to run.
fn chosen(notebook: &Notebook, options: &RunNotebook) -> anyhow::Result<Vec<usize>> {
    let index = |cell: &Option<String>, default: usize| -> anyhow::Result<usize> {
        let Some(text) = cell else { return Ok(default) };
        let found = match text.parse::<usize>() {
            Ok(index) => (index < notebook.cells().len()).then_some(index),
            Err(_) => notebook.cell(&CellId::from(text.clone())).map(|(index, _)| index),
        };
        found.with_context(|| format!("the notebook has no cell {text}"))
    };
    let from = index(&options.from, 0)?;
    let until = index(&options.until, notebook.cells().len().saturating_sub(1))?;
    let is_run = |index: &usize| {
        let cell = &notebook.cells()[*index];
        cell.is_code() && !cell.tags().iter().any(|tag| tag == "skip-execution")
    };
    Ok((from..notebook.cells().len()).take_while(|index| *index <= until).filter(is_run).collect())
}

async fn run_cells(
    session: &Session,
    opened: &Arc<OpenNotebook>,
    notebook: &Notebook,
    cells: Vec<usize>,
    options: &RunNotebook,
) -> anyhow::Result<Ended> {
    let began = Instant::now();
    let mut log = Log::new(cells.len());
    let (mut done, mut ended) = (0, Ended::Whole);
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(interrupt);
    for index in &cells {
        let cell = &notebook.cells()[*index];
        let run = session.run(opened.clone(), Some(cell.id().clone()), cell.source().into_owned())?;
        log.begin(*index, &cell.first_line());
        let is_over = tokio::select! {
            () = run.settled() => true,
            () = limit(options.timeout) => {
                log.say(&format!("cell {index} took longer than the --timeout"));
                false
            }
            interrupted = &mut interrupt => {
                interrupted?;
                ended = Ended::Interrupted;
                false
            }
        };
        if !is_over || !run.state().is_over() {
            if let RunState::WaitingForInput { .. } = run.state() {
                log.say(&format!("cell {index} asks for input, which nobody gives here"));
            }
            stop(session, &run).await;
        }
        log.end(*index, &run);
        if ended == Ended::Interrupted {
            break;
        }
        let may_fail = cell.tags().iter().any(|tag| tag == "raises-exception");
        if run.state().is_failure() && !may_fail {
            ended = Ended::Failed;
            if !options.keep_going {
                break;
            }
        } else {
            done += 1;
        }
    }
    log.finish();
    let (path, count, seconds) = (opened.path(), cells.len(), began.elapsed().as_secs_f64());
    writeln!(std::io::stdout().lock(), "{path}: {done} of {count} cells ran; {seconds:.1} s")?;
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
