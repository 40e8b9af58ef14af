//! Runs the cells of a notebook in a kernel of their own, which ends afterwards.

use std::sync::Arc;
use std::time::Duration;

use notebook::{Kernelspec, Output};
use parking_lot::Mutex;
use place::{
    Error, ErrorKind, Executor, Kernel, KernelChoice, KernelRequest, KernelSelector, NotebookPath, Place,
};
use runs::Run;

use self::areas::Areas;
use self::execute::execute;
pub(crate) use self::ran::{Ended, Ran};
use crate::cells::Checked;
use crate::imports;

mod areas;
mod execute;
mod ran;

/// The notebook, and the kernel that it wants.
pub(crate) struct Subject {
    pub(crate) place: Arc<dyn Place>,
    pub(crate) path: NotebookPath,
    /// The name of a kernelspec, where the notebook's own kernel tells more than its metadata.
    pub(crate) kernelspec: Option<String>,
    pub(crate) preferred: Option<Kernelspec>,
    /// Whether it runs in a copy of the notebook's folder.
    pub(crate) in_copy: bool,
}

/// Runs the cells in a new kernel, each for at most `limit`, until the first error that is not expected. `on_cell` gets the
/// position of each. Fails if `run` is interrupted during the rerun. The kernel has ended in any case.
pub(crate) async fn rerun(
    run: &Run,
    subject: &Subject,
    cells: &[Checked],
    limit: Duration,
    on_cell: &(dyn Fn(usize) + Send + Sync),
) -> Result<Ran, Error> {
    let missing = missing(subject).await?;
    let copy = if subject.in_copy { Some(subject.place.copy_folder(&subject.path).await?) } else { None };
    let request = KernelRequest {
        notebook: Some(subject.path.clone()),
        kernel: KernelSelector::Scratch(subject.kernelspec.clone()),
        is_for_run: true,
        preferred: subject.preferred.clone(),
        folder: copy.as_ref().map(|copy| copy.path().to_path_buf()),
    };
    // Not cut short: a place that has started to start a kernel could not end it.
    let KernelChoice::Kernel { kernel, .. } = subject.place.kernel(request).await? else {
        return Err(runs::no_kernel());
    };
    let mut ran = tokio::select! {
        ran = run_cells(&*kernel, cells, limit, on_cell) => ran,
        () = run.over() => Err(cancelled()),
    };
    if let (Ok(ran), Some(missing)) = (&mut ran, missing) {
        let name = kernel.description().name;
        // An environment may offer a kernel of that name without a kernelspec.
        if name != *missing {
            ran.runtime = format!("{} ({name} in place of the kernelspec {missing})", ran.runtime);
        }
    }
    if let Err(error) = kernel.shutdown().await {
        tracing::warn!(%error, kernel = %kernel.id(), "the kernel of a verification did not end");
    }
    if let (Some(copy), Ok(ran)) = (&copy, &mut ran) {
        ran.left_out = copy.left_out().to_vec();
        let others = ran.other_forms.iter_mut().flatten();
        ran.outputs.iter_mut().chain(others).for_each(|outputs| copy.restore(outputs));
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
        let area = Arc::new(Mutex::new(Areas::default()));
        areas.push(area.clone());
        let failure = execute(&*executor, &cell.source, limit, cell.may_fail, area.clone()).await;
        let is_last = position + 1 == cells.len();
        if let Some(cause) = failure.or_else(|| area.lock().failure(cell.may_fail, is_last)) {
            ended = Ended::At { position, cause };
            break;
        }
    }
    // An error may be expected because it is saved.
    let lacks_module = areas.iter().any(|area| area.lock().outputs().iter().any(is_of_missing_module));
    let sources = cells.iter().map(|cell| cell.source.as_str());
    let missing = if lacks_module { imports::missing(&*executor, sources).await } else { Vec::new() };
    // Only now: a later cell may have updated a display of an earlier one.
    let outputs = areas.iter().map(|area| area.lock().outputs().to_vec()).collect();
    let other_forms = areas.iter().map(|area| area.lock().other_forms()).collect();
    let (runtime, widgets) = (runtime(&*executor), executor.widget_state().await);
    let introduction = kernel.introduction();
    Ok(Ran { outputs, other_forms, ended, missing, left_out: Vec::new(), runtime, introduction, widgets })
}

fn is_of_missing_module(output: &Output) -> bool {
    matches!(output, Output::Error { name, .. } if name == "ModuleNotFoundError")
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
