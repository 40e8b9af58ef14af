//! Runs the cells of a notebook in a kernel of their own, which ends afterwards.

use std::sync::Arc;
use std::time::Duration;

use compare::{Comparison, compare, difference, without_pages};
use kernel::{Event, Outcome, OutputArea};
use notebook::{Json, Kernelspec, Output};
use parking_lot::Mutex;
use place::{
    Code, Error, ErrorKind, Executor, Kernel, KernelChoice, KernelRequest, KernelSelector, NotebookPath,
    Place, RunDetails, RunId,
};
use runs::Run;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::cells::Checked;
use crate::imports;
use crate::imports::MissingModule;

/// How many bytes of outputs a cell may have; what it prints beyond that is not compared.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// How long it may take to find out which modules are missing.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

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

/// The outputs of the cells that ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ran {
    pub(crate) outputs: Vec<Vec<Output>>,
    /// The same as other front ends save them, for each cell with widgets.
    pub(crate) other_forms: Vec<Vec<Vec<Output>>>,
    pub(crate) ended: Ended,
    /// What the notebook imports and the environment lacks, if a cell has failed for that.
    pub(crate) missing: Vec<MissingModule>,
    /// The links of the folder that are not in its copy, because they lead out of it.
    pub(crate) left_out: Vec<String>,
    /// Such as `Python 3.12.4`.
    pub(crate) runtime: String,
    /// What a notebook keeps of all widgets of the kernel: see [`Executor::widget_state`].
    pub(crate) widgets: Option<Json>,
}

impl Ran {
    /// Compares what a cell says now with what is saved, which was written by a front end that knows widgets or by one that does
    /// not, and by one that saves what a pager shows or by one that does not.
    pub(crate) fn compare(&self, position: usize, cell: &Checked, rerun: &compare::Rerun) -> Comparison {
        let mut compared = self.forms(position, cell).map(|form| compare(&cell.saved, form, rerun));
        let first = compared.next().unwrap_or(Comparison::Same);
        let is_different = matches!(first, Comparison::Different { .. });
        let other = compared.find(|other| is_different && !matches!(other, Comparison::Different { .. }));
        other.unwrap_or(first)
    }

    /// How a cell that says something else differs, for people: from the form that is most like what is saved.
    pub(crate) fn difference(&self, position: usize, cell: &Checked, rerun: &compare::Rerun) -> String {
        let differences = self.forms(position, cell).map(|form| match compare(&cell.saved, form, rerun) {
            Comparison::Different { lines } => difference(&cell.saved, form, &lines),
            Comparison::Same | Comparison::Close { .. } => String::new(),
        });
        differences.min_by_key(|text| (text.lines().count(), text.len())).unwrap_or_default()
    }

    fn forms<'r>(&'r self, position: usize, cell: &'r Checked) -> impl Iterator<Item = &'r [Output]> {
        let fresh = &self.outputs[position];
        let others = self.other_forms.get(position).into_iter().flatten();
        let without_pages = cell.asks_for_help.then(|| without_pages(fresh, cell.saved.len()));
        std::iter::once(fresh).chain(others).map(Vec::as_slice).chain(without_pages)
    }

    /// Why the cell at that position failed, if it did.
    pub(crate) fn failure_at(&self, position: usize) -> Option<String> {
        match &self.ended {
            Ended::At { position: at, cause } if *at == position => Some(cause.clone()),
            _ => None,
        }
    }

    /// How many cells ran before one failed.
    pub(crate) fn passed(&self) -> usize {
        match self.ended {
            Ended::Whole => self.outputs.len(),
            Ended::At { position, .. } => position,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    At { position: usize, cause: String },
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
    // Not cut short: a place that has begun to start a kernel could not end it.
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
    let lacks_module = areas.iter().any(|area| area.lock().all.outputs().iter().any(is_of_missing_module));
    let missing = if lacks_module { missing_modules(&*executor, cells).await } else { Vec::new() };
    // Only now: a later cell may have updated a display of an earlier one.
    let outputs = areas.iter().map(|area| area.lock().all.outputs().to_vec()).collect();
    let other_forms = areas.iter().map(|area| area.lock().other_forms()).collect();
    let (runtime, widgets) = (runtime(&*executor), executor.widget_state().await);
    Ok(Ran { outputs, other_forms, ended, missing, left_out: Vec::new(), runtime, widgets })
}

fn is_of_missing_module(output: &Output) -> bool {
    matches!(output, Output::Error { name, .. } if name == "ModuleNotFoundError")
}

/// All modules that the cells import and the environment lacks, not only the first.
async fn missing_modules(executor: &dyn Executor, cells: &[Checked]) -> Vec<MissingModule> {
    let modules = imports::imported(cells.iter().map(|cell| cell.source.as_str()));
    let area = Arc::new(Mutex::new(Areas::default()));
    let failure = execute(executor, &imports::question(&modules), QUESTION_LIMIT, true, area.clone()).await;
    if let Some(cause) = failure {
        tracing::debug!(cause, "which modules are missing is not known");
    }
    let area = area.lock();
    let printed = area.all.outputs().iter().filter_map(|output| match output {
        Output::Stream { text, .. } => Some(text.as_str().into_owned()),
        _ => None,
    });
    imports::missing(&printed.collect::<String>(), &modules)
}

/// The outputs of a cell.
#[derive(Default)]
struct Areas {
    /// Also those that went into `Output` widgets, and widgets as they are at the end.
    all: OutputArea,
    /// Of a cell with widgets.
    others: Option<Box<OtherAreas>>,
    asks_to_exit: bool,
}

/// The outputs of a cell as front ends save them that show its widgets.
#[derive(Default)]
struct OtherAreas {
    /// As runs save them.
    of_runs: OutputArea,
    /// All, and widgets as they were when they were displayed.
    at_first: OutputArea,
    /// Without what went into `Output` widgets, and widgets as they were when they were displayed.
    beside_widgets: OutputArea,
    /// Whether a widget takes them now.
    is_captured: bool,
}

impl OtherAreas {
    fn apply(&mut self, event: &Event) {
        self.of_runs.apply(event.clone());
        match event {
            Event::Captured(is_captured) => self.is_captured = *is_captured,
            Event::Widget { .. } | Event::WidgetState(_) => {}
            event => {
                self.at_first.apply(event.clone());
                if !self.is_captured || matches!(event, Event::UpdateDisplay { .. }) {
                    self.beside_widgets.apply(event.clone());
                }
            }
        }
    }
}

impl Areas {
    fn apply(&mut self, event: Event) {
        match event {
            Event::ExitRequested { .. } => self.asks_to_exit = true,
            Event::Output { output: Output::Stream { .. }, .. }
                if self.all.size_bytes() > MAX_OUTPUT_BYTES => {}
            event => {
                if matches!(event, Event::Captured(_) | Event::Widget { .. }) {
                    self.others.get_or_insert_with(|| {
                        let area = || self.all.clone();
                        let (of_runs, at_first, beside_widgets) = (area(), area(), area());
                        Box::new(OtherAreas { of_runs, at_first, beside_widgets, is_captured: false })
                    });
                }
                if let Some(others) = &mut self.others {
                    others.apply(&event);
                }
                if !matches!(event, Event::Captured(_)) {
                    self.all.apply(event);
                }
            }
        }
    }

    /// Why the cell failed although its reply has no error.
    fn failure(&self, may_fail: bool, is_last: bool) -> Option<String> {
        if self.asks_to_exit && !is_last {
            return Some("it asks the kernel to exit".to_owned());
        }
        self.error().filter(|_| !may_fail)
    }

    /// The error that the cell shows, which its reply does not tell if the code caught it: `%run` of a script that fails, or a cell
    /// that runs another. What went into a widget is shown there.
    fn error(&self) -> Option<String> {
        let shown = self.others.as_ref().map_or(&self.all, |others| &others.beside_widgets);
        shown.outputs().iter().find_map(|output| match output {
            Output::Error { name, value, .. } => Some(error_line(name, value)),
            _ => None,
        })
    }

    fn other_forms(&self) -> Vec<Vec<Output>> {
        let Some(others) = &self.others else { return Vec::new() };
        [&others.of_runs, &others.at_first, &others.beside_widgets].map(|area| area.outputs().to_vec()).into()
    }
}

/// Why the cell failed, if it did. Its outputs go into `area`, even those that come after its end.
async fn execute(
    executor: &dyn Executor,
    source: &str,
    limit: Duration,
    may_fail: bool,
    area: Arc<Mutex<Areas>>,
) -> Option<String> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let sink = Box::new(move |event| match event {
        Event::InputWanted { .. } | Event::Finished(_) => drop(sender.send(event)),
        event => area.lock().apply(event),
    });
    let note = RunDetails {
        run: RunId::new("verify".to_owned()),
        notebook: None,
        cell: None,
        source: source.to_owned(),
        shown_before: None,
    };
    let _execution = executor.execute(Code { source, cell: None, note: &note }, sink);
    let _forgotten = Forgotten { executor, run: &note.run };
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

/// A run that no later server looks for once this is dropped, however it ends.
struct Forgotten<'a> {
    executor: &'a dyn Executor,
    run: &'a RunId,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.executor.acknowledge(self.run);
    }
}

fn failure(outcome: Outcome, may_fail: bool) -> Option<String> {
    match outcome {
        Outcome::Done { .. } => None,
        Outcome::Error { .. } if may_fail => None,
        Outcome::Error { name, value, .. } => Some(error_line(&name, &value)),
        Outcome::KernelDied { how } => Some(format!("the kernel died: {how}")),
        Outcome::Refused { cause } => Some(cause),
        Outcome::Lost { cause, .. } => Some(cause.to_string()),
        Outcome::Aborted | Outcome::Interrupted | Outcome::Restarted => Some("it was interrupted".to_owned()),
    }
}

fn error_line(name: &str, value: &str) -> String {
    let value = value.lines().next().unwrap_or_default();
    if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") }
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

#[cfg(test)]
mod tests {
    use notebook::{Json, MimeBundle};

    use super::*;

    fn printed(text: &str) -> Event {
        let output = Output::Stream { name: "stdout".to_owned(), text: text.into() };
        Event::Output { output, display_id: None }
    }

    fn fresh(cell: &Checked) -> compare::Rerun {
        let now = std::time::SystemTime::now();
        compare::Rerun::new(now..now, [cell.source.as_str()])
    }

    fn outputs(events: Vec<Event>) -> (Vec<Output>, Vec<Vec<Output>>) {
        let mut areas = Areas::default();
        for event in events {
            areas.apply(event);
        }
        (areas.all.outputs().to_vec(), areas.other_forms())
    }

    /// A run of one cell to its end.
    fn whole(outputs: Vec<Output>, others: Vec<Vec<Output>>) -> Ran {
        Ran {
            outputs: vec![outputs],
            other_forms: vec![others],
            ended: Ended::Whole,
            missing: Vec::new(),
            left_out: Vec::new(),
            runtime: String::new(),
            widgets: None,
        }
    }

    #[test]
    fn what_goes_into_a_widget_may_be_saved_in_the_cell_or_with_the_widget() {
        let (outputs, others) = outputs(vec![
            printed("a\n"),
            Event::Captured(true),
            printed("in the widget\n"),
            Event::ClearOutput { wait: true },
            printed("in the widget\n"),
            Event::Captured(false),
            printed("b\n"),
        ]);
        let ran = whole(outputs, others);
        let says = |text: &str| {
            let saved = Output::Stream { name: "stdout".to_owned(), text: text.into() };
            let cell = Checked::with_saved(vec![saved]);
            ran.compare(0, &cell, &fresh(&cell)) == Comparison::Same
        };
        assert!(says("a\nb\n") && says("in the widget\nb\n"));
        assert!(!says("a\nin the widget\nb\n") && !says("other\n"));
    }

    #[test]
    fn a_widget_may_be_saved_as_it_was_displayed_or_as_it_is_at_the_end() {
        let data = |plain: &str| {
            let view = serde_json::json!({ "model_id": "m" });
            let data =
                serde_json::json!({ "application/vnd.jupyter.widget-view+json": view, "text/plain": plain });
            MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() }
        };
        let picture = || {
            let data = serde_json::json!({ "image/png": "AAAA", "text/plain": "<Figure>" });
            Output::Display(MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() })
        };
        let show = |output| Event::Output { output, display_id: None };
        let widget = |text: &str| Event::Widget { model_id: "m".to_owned(), text: text.to_owned() };
        let (outputs, others) = outputs(vec![
            show(Output::Display(data("Output()"))),
            widget("empty"),
            Event::Captured(true),
            printed("inside"),
            show(picture()),
            widget("inside"),
            Event::Captured(false),
            printed("after"),
        ]);
        let ran = whole(outputs, others);
        let stdout = |text: &str| Output::Stream { name: "stdout".to_owned(), text: text.into() };
        let shown = |plain: &str| Output::Display(data(plain));
        let checked = |saved: Vec<Output>| Checked::with_saved(saved);
        for (name, saved) in [
            ("nbclient and JupyterLab", vec![shown("Output()"), stdout("after")]),
            ("a front end that syncs", vec![shown("Output(outputs=({},))"), stdout("after")]),
            ("no widgets", vec![shown("Output()"), stdout("inside"), picture(), stdout("after")]),
            ("runs", vec![shown("inside"), picture(), stdout("after")]),
            ("all", vec![shown("inside"), stdout("inside"), picture(), stdout("after")]),
        ] {
            let cell = checked(saved);
            assert_eq!(ran.compare(0, &cell, &fresh(&cell)), Comparison::Same, "{name}");
        }
        let other = checked(vec![shown("Label()"), stdout("after")]);
        let different = ran.compare(0, &other, &fresh(&other));
        assert!(matches!(different, Comparison::Different { .. }), "{different:?}");
        let shown = ran.difference(0, &other, &fresh(&other));
        assert!(
            shown.contains("+[widget, as it was at first: Output()]") && !shown.contains("inside"),
            "{shown}"
        );
    }

    #[test]
    fn an_error_that_the_code_caught_is_an_error() {
        let mut areas = Areas::default();
        assert_eq!(areas.error(), None);
        let error = |value: &str| Event::Output {
            output: Output::Error { name: "E".to_owned(), value: value.to_owned(), traceback: Vec::new() },
            display_id: None,
        };
        areas.apply(Event::Captured(true));
        areas.apply(error("in a widget"));
        areas.apply(Event::Captured(false));
        assert_eq!(areas.error(), None);
        areas.apply(printed("a"));
        areas.apply(error("one\ntwo"));
        assert_eq!(areas.error().as_deref(), Some("E: one"));
    }

    #[test]
    fn only_the_last_cell_may_ask_the_kernel_to_exit() {
        for keeps_kernel in [false, true] {
            let mut areas = Areas::default();
            areas.apply(Event::ExitRequested { keeps_kernel });
            assert_eq!(areas.failure(false, true), None);
            assert_eq!(areas.failure(true, false).as_deref(), Some("it asks the kernel to exit"));
        }
    }

    #[test]
    fn help_may_be_saved_as_an_output_or_not() {
        let bundle = |text: &str| MimeBundle {
            data: Json::from_value(&serde_json::json!({ "text/plain": text })),
            metadata: Json::empty_object(),
        };
        let ran = Ran {
            outputs: vec![vec![Output::Display(bundle("Docstring"))]],
            other_forms: Vec::new(),
            ended: Ended::Whole,
            missing: Vec::new(),
            left_out: Vec::new(),
            runtime: String::new(),
            widgets: None,
        };
        let says = |asks_for_help, saved: Vec<Output>| {
            let cell = Checked { asks_for_help, ..Checked::with_saved(saved) };
            ran.compare(0, &cell, &fresh(&cell)) == Comparison::Same
        };
        assert!(says(true, Vec::new()) && says(true, vec![Output::Display(bundle("Docstring"))]));
        assert!(!says(true, vec![Output::Display(bundle("another text"))]) && !says(false, Vec::new()));
    }

    #[test]
    fn without_widgets_there_is_one_way_to_save_outputs() {
        let (all, others) = outputs(vec![printed("a")]);
        assert_eq!((all.len(), others), (1, Vec::new()));
    }
}
