//! Runs the cells of a notebook in a kernel of their own, which ends afterwards.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Event, Outcome, OutputArea};
use notebook::{Kernelspec, Output};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::cells::Checked;
use crate::executor::{Code, Executor};
use crate::kernel_request::{KernelRequest, KernelSelector};
use crate::place::{Kernel, KernelChoice, Place};
use crate::runs::{Run, RunNote};
use crate::{Error, ErrorKind, NotebookPath, RunId};

/// How many bytes of outputs a cell may have; what it prints beyond that is not compared.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// The notebook, and the kernel that it wants.
pub(super) struct Subject {
    pub(super) place: Arc<dyn Place>,
    pub(super) path: NotebookPath,
    /// The name of a kernelspec, where the notebook's own kernel tells more than its metadata.
    pub(super) kernelspec: Option<String>,
    pub(super) preferred: Option<Kernelspec>,
    /// Whether it runs in a copy of the notebook's folder.
    pub(super) in_copy: bool,
}

/// The outputs of the cells that ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ran {
    pub(super) outputs: Vec<Vec<Output>>,
    pub(super) ended: Ended,
    /// Such as `Python 3.12.4`.
    pub(super) runtime: String,
}

impl Ran {
    /// Why the cell at that position failed, if it did.
    pub(super) fn failure_at(&self, position: usize) -> Option<String> {
        match &self.ended {
            Ended::At { position: at, cause } if *at == position => Some(cause.clone()),
            _ => None,
        }
    }

    /// How many cells ran before one failed.
    pub(super) fn passed(&self) -> usize {
        match self.ended {
            Ended::Whole => self.outputs.len(),
            Ended::At { position, .. } => position,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Whole,
    At { position: usize, cause: String },
}

/// Runs the cells in a new kernel, each for at most `limit`, until the first error that is not expected. `on_cell` gets the
/// position of each. Fails if `run` is interrupted meanwhile. The kernel has ended in any case.
pub(super) async fn rerun(
    run: &Run,
    subject: &Subject,
    cells: &[Checked],
    limit: Duration,
    on_cell: &(dyn Fn(usize) + Send + Sync),
) -> Result<Ran, Error> {
    let copy = if subject.in_copy { Some(subject.place.copy_folder(&subject.path).await?) } else { None };
    let request = KernelRequest {
        notebook: Some(subject.path.clone()),
        kernel: KernelSelector::Scratch(subject.kernelspec.clone()),
        is_for_run: true,
        preferred: subject.preferred.clone(),
        folder: copy.as_ref().map(|copy| copy.path().to_path_buf()),
    };
    // Not cut short: a place that has begun to start a kernel could not end it.
    let KernelChoice::Kernel { kernel, .. } = subject.place.kernel(request).await? else {
        return Err(crate::runs::no_kernel());
    };
    let mut ran = tokio::select! {
        ran = run_cells(&*kernel, cells, limit, on_cell) => ran,
        () = run.over() => Err(cancelled()),
    };
    if let (Ok(ran), Some(missing)) = (&mut ran, missing(subject).await?) {
        ran.runtime =
            format!("{} ({} in place of the kernelspec {missing})", ran.runtime, kernel.description().name);
    }
    if let Err(error) = kernel.shutdown().await {
        tracing::warn!(%error, kernel = %kernel.id(), "the kernel of a verification did not end");
    }
    if let (Some(copy), Ok(ran)) = (&copy, &mut ran) {
        ran.outputs.iter_mut().for_each(|outputs| copy.restore(outputs));
    }
    ran
}

/// The kernelspec that the notebook names, if there is none of that name.
async fn missing(subject: &Subject) -> Result<Option<&str>, Error> {
    let Some(preferred) = subject.preferred.as_ref().filter(|_| subject.kernelspec.is_none()) else {
        return Ok(None);
    };
    let known = subject.place.kernelspecs().await?;
    Ok((!known.iter().any(|known| known.name == preferred.name)).then_some(&preferred.name))
}

fn cancelled() -> Error {
    Error::new(ErrorKind::KernelGone, "The verification was cancelled.", "Call verify_notebook again.")
}

async fn run_cells(
    kernel: &dyn Kernel,
    cells: &[Checked],
    limit: Duration,
    on_cell: &(dyn Fn(usize) + Send + Sync),
) -> Result<Ran, Error> {
    let executor = kernel.executor().await?;
    let (mut areas, mut ended) = (Vec::new(), Ended::Whole);
    for (position, cell) in cells.iter().enumerate() {
        on_cell(position);
        let area = Arc::new(Mutex::new(OutputArea::default()));
        areas.push(area.clone());
        if let Some(cause) = execute(&*executor, &cell.source, limit, cell.may_fail, area).await {
            ended = Ended::At { position, cause };
            break;
        }
    }
    // Only now: a later cell may have updated a display of an earlier one.
    let outputs = areas.iter().map(|area| area.lock().outputs().to_vec()).collect();
    Ok(Ran { outputs, ended, runtime: runtime(&*executor) })
}

/// Why the cell failed, if it did. Its outputs go into `area`, even those that come after its end.
async fn execute(
    executor: &dyn Executor,
    source: &str,
    limit: Duration,
    may_fail: bool,
    area: Arc<Mutex<OutputArea>>,
) -> Option<String> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let sink = Box::new(move |event| match event {
        Event::InputWanted { .. } | Event::Finished(_) => drop(sender.send(event)),
        event => {
            let mut area = area.lock();
            let is_stream = matches!(event, Event::Output { output: Output::Stream { .. }, .. });
            if !is_stream || area.size_bytes() <= MAX_OUTPUT_BYTES {
                area.apply(event);
            }
        }
    });
    let note = RunNote {
        run: RunId::new("verify".to_owned()),
        notebook: None,
        cell: None,
        source: source.to_owned(),
    };
    let _execution = executor.execute(Code { source, cell: None, note: &note }, sink);
    let deadline = Instant::now() + limit;
    loop {
        let Ok(event) = timeout_at(deadline, events.recv()).await else {
            return Some(format!("it took longer than {} s", limit.as_secs_f64()));
        };
        match event {
            Some(Event::InputWanted { .. }) => return Some("it asks for input".to_owned()),
            Some(Event::Finished(outcome)) => return failure(outcome, may_fail),
            Some(_) => {}
            None => return Some("its kernel is gone".to_owned()),
        }
    }
}

fn failure(outcome: Outcome, may_fail: bool) -> Option<String> {
    match outcome {
        Outcome::Done { .. } => None,
        Outcome::Error { .. } if may_fail => None,
        Outcome::Error { name, value, .. } => {
            let value = value.lines().next().unwrap_or_default();
            Some(if value.is_empty() { name } else { format!("{name}: {value}") })
        }
        Outcome::KernelDied { how } => Some(format!("the kernel died: {how}")),
        Outcome::Refused { cause } => Some(cause),
        Outcome::Lost { cause, .. } => Some(cause.to_string()),
        Outcome::Aborted | Outcome::Interrupted | Outcome::Restarted => Some("it was interrupted".to_owned()),
    }
}

/// The language with its version, as the kernel says.
fn runtime(executor: &dyn Executor) -> String {
    let info = executor.language_info();
    let text = |name| info.member(name).and_then(|json| Some(json.text()?.into_owned())).unwrap_or_default();
    let (language, version) = (text("name"), text("version"));
    let mut letters = language.chars();
    let language = letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>());
    format!("{} {version}", language.unwrap_or_default()).trim().to_owned()
}
