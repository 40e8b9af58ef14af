//! The runs of a session, and the kernels that it chooses for them.

use std::sync::Arc;
use std::time::Duration;

use notebook::{CellId, one_line};
use place::{
    Error, ErrorKind, FoundRun, Kernel, KernelChoice, KernelId, KernelRequest, KernelSelector, KernelState,
    Mode, NextStep, Place, RunId, RunState,
};
use runs::{InLine, InSeries, OpenNotebook, PendingRun, Run, RunTarget, Slot};
use tokio::time::timeout;
use verify::{VerifyOptions, Verifying};

use super::Session;
use crate::places::Located;

/// The maximum number of kernels that are named when one is not found.
const MAX_NEAR: usize = 3;
/// The time for which a call waits until a kernel of before is found.
const KERNEL_LIMIT: Duration = Duration::from_secs(5);

impl Session {
    /// The kernel of a notebook. Chooses one if it has none yet.
    pub async fn choose_kernel(
        &self,
        notebook: &Arc<OpenNotebook>,
        selector: KernelSelector,
    ) -> Result<KernelChoice, Error> {
        let choice = notebook.choose(selector, self.id, false).await?;
        if let KernelChoice::Kernel { kernel, .. } = &choice {
            self.workspace.runner().adopt(kernel, notebook).await;
            self.workspace.look_at_kernel(notebook).await;
        }
        Ok(choice)
    }

    /// Takes the kernel that an earlier server or another program runs for a notebook, so that it is known what has run. Starts none. A
    /// failure is that of the run that needs the kernel.
    pub async fn take_running_kernel(&self, notebook: &Arc<OpenNotebook>) {
        if !notebook.looks_for_kernel() {
            return;
        }
        let taking = async {
            let Some(runs) = notebook.place().earlier_runs() else { return Ok(()) };
            if runs.has_running_kernel(notebook.path()).await? {
                self.choose_kernel(notebook, KernelSelector::Any).await?;
                if !self.workspace.has_reported_leftovers() {
                    // The first reply tells of these runs.
                    notebook.take_notices();
                }
            }
            Ok::<_, Error>(())
        };
        if let Ok(Err(error)) = timeout(KERNEL_LIMIT, taking).await {
            tracing::debug!(%error, "no running kernel of the notebook was found");
        }
    }

    /// Looks for a run that this server does not know on the kernels of all places, and takes it over if its server has ended.
    pub async fn find_run(&self, run: &RunId) -> Option<FoundRun> {
        let runner = self.workspace.runner();
        for place in self.places() {
            let Some(runs) = place.earlier_runs() else { continue };
            let Ok(Some(run)) = runs.find(run).await else { continue };
            match (&run.kernel, &run.notebook) {
                (Some(kernel), Some(path)) => {
                    let located = Located { place, path: path.clone() };
                    if let Ok(opened) = self.workspace.open(located, Mode::Connect).await {
                        runner.adopt(kernel, &opened).await;
                    }
                }
                // Later questions about its runs find them by their ids.
                (Some(kernel), None) => drop(runner.adopt_at(kernel, &place, None).await),
                (None, _) => {}
            }
            return Some(run);
        }
        None
    }

    /// Takes over the runs that earlier servers left at a kernel that is for code of no notebook.
    pub async fn adopt(&self, kernel: KernelId) -> Result<(), Error> {
        let place = self.place();
        let request = KernelRequest { kernel: KernelSelector::Existing(kernel), ..KernelRequest::default() };
        if let KernelChoice::Kernel { kernel, .. } = place.kernel(request).await? {
            self.workspace.runner().adopt_at(&kernel, &place, None).await;
        }
        Ok(())
    }

    /// The kernel that runs the cells of a notebook, as for a run: what it lacks, such as an environment, is made.
    pub async fn kernel_for_run(&self, notebook: &Arc<OpenNotebook>) -> Result<Arc<dyn Kernel>, Error> {
        let kernel = match notebook.choose(KernelSelector::Any, self.id, true).await? {
            KernelChoice::Kernel { kernel, .. } => kernel,
            KernelChoice::OnFirstRun(_) => return Err(runs::no_kernel()),
        };
        self.workspace.runner().adopt(&kernel, notebook).await;
        Ok(kernel)
    }

    /// Runs the cells of a notebook from now on in a kernel of any place that was started for this session alone. It does not
    /// become the notebook's for others.
    pub fn use_kernel(&self, notebook: &OpenNotebook, kernel: Arc<dyn Kernel>) {
        notebook.bind(kernel, self.id);
    }

    /// Runs a cell, or code of no cell, in a notebook's kernel. Never waits.
    pub fn run(
        &self,
        notebook: Arc<OpenNotebook>,
        cell: Option<CellId>,
        source: String,
    ) -> Result<Arc<Run>, Error> {
        self.run_as(notebook, cell, source, None)
    }

    /// The same; with `series`, for one cell of several, whose caller waits for each.
    pub fn run_as(
        &self,
        notebook: Arc<OpenNotebook>,
        cell: Option<CellId>,
        source: String,
        series: Option<InSeries>,
    ) -> Result<Arc<Run>, Error> {
        let slot = self.slot()?;
        if cell.is_some() {
            self.checkpoint_first_run(&notebook);
        }
        let in_line = self.line_up_in(&notebook);
        Ok(self.workspace.runner().run(notebook, (cell, source), series, self.id, slot, in_line))
    }

    /// Runs cells, given by id and source, in order. Each has its run at once. Never waits.
    pub fn run_in_order(
        &self,
        notebook: &Arc<OpenNotebook>,
        cells: Vec<(CellId, String)>,
        stops_on_error: bool,
    ) -> Result<Vec<Arc<Run>>, Error> {
        let slot = self.slot()?;
        self.checkpoint_first_run(notebook);
        let in_line = self.line_up_in(notebook);
        Ok(self.workspace.runner().run_in_order(notebook, cells, stops_on_error, self.id, slot, in_line))
    }

    /// Outputs change a notebook, too.
    fn checkpoint_first_run(&self, notebook: &OpenNotebook) {
        if let Some(name) = self.first_change_of(notebook.path()) {
            self.checkpoint_if_recorded(notebook, &name);
        }
    }

    /// The kernel with this id, or the only one whose id begins so, in the first place that has one. A place that can restart
    /// and end the kernel comes before one that knows it as that of another program.
    pub async fn kernel(&self, id: &str) -> Result<Arc<dyn Kernel>, Error> {
        let (mut foreign, mut failure) = (None, None);
        for place in self.places() {
            match find_kernel(&*place, id).await {
                Ok(kernel) if kernel.description().foreign.is_some() => foreign = foreign.or(Some(kernel)),
                Ok(kernel) => return Ok(kernel),
                Err(error) if error.kind == ErrorKind::InvalidArgument => return Err(error),
                // A place that knows why is more use than one that has never heard of it.
                Err(error) if failure.is_none() || error.kind != ErrorKind::NotFound => failure = Some(error),
                Err(_) => {}
            }
        }
        if let Some(kernel) = foreign {
            return Ok(kernel);
        }
        let mut failure = failure.unwrap_or_else(|| Error::no_kernel(id));
        failure.cause.push_str(&self.near_kernel(id).await);
        Err(failure)
    }

    /// A sentence about the kernels that somebody may have meant: by an id in another case, or by the name of a kernelspec or notebook.
    async fn near_kernel(&self, id: &str) -> String {
        let mut ids = Vec::new();
        for place in self.places() {
            for kernel in place.kernels().await.unwrap_or_default() {
                let description = kernel.description();
                let notebook = description.keeping.and_then(|keeping| keeping.notebook);
                let names = [description.name, description.display_name, kernel.id().to_string()];
                let is_meant = names.iter().any(|name| name.eq_ignore_ascii_case(id.trim()))
                    || kernel.id().to_lowercase().starts_with(&id.trim().to_lowercase())
                    || notebook.is_some_and(|path| *path == *id);
                if is_meant && !id.trim().is_empty() {
                    ids.push(kernel.id().to_string());
                }
            }
        }
        ids.truncate(MAX_NEAR);
        if ids.is_empty() { String::new() } else { format!(" The nearest: {}.", ids.join(", ")) }
    }

    /// Runs code in the kernel with this id, or else in the session's own kernel. Never waits for the run.
    pub async fn run_code(&self, kernel: Option<&str>, source: String) -> Result<Arc<Run>, Error> {
        let kernel = match kernel {
            Some(id) => Some(self.kernel(id).await?),
            None => None,
        };
        let slot = self.slot()?;
        let target =
            kernel.as_ref().map_or(RunTarget::Default, |kernel| RunTarget::Kernel(kernel.id().clone()));
        let in_line = self.run_order.line_up(&[target]);
        Ok(self.workspace.runner().run_code(self.place(), kernel, source, slot, in_line))
    }

    /// Verifies a notebook in a fresh kernel. Never waits.
    pub fn verify(&self, notebook: Arc<OpenNotebook>, options: VerifyOptions) -> Result<Verifying, Error> {
        let slot = self.slot()?;
        if options.apply {
            self.checkpoint_first_run(&notebook);
        }
        Ok(verify::start(self.workspace.runner(), notebook, options, slot))
    }

    /// The place of a run of this notebook after those that the session has requested before.
    fn line_up_in(&self, notebook: &OpenNotebook) -> InLine {
        let kernel = notebook.kernel().map(|kernel| RunTarget::Kernel(kernel.id().clone()));
        let targets: Vec<_> =
            [RunTarget::Notebook(notebook.path().clone())].into_iter().chain(kernel).collect();
        self.run_order.line_up(&targets)
    }

    /// The runs that a kernel has not ended, and that this session has not requested: the one that it works on first.
    pub async fn runs_of_others(&self, kernel: &dyn Kernel) -> Vec<PendingRun> {
        let mut pending = self.workspace.runner().pending(kernel).await;
        pending.retain(|pending| !pending.run.as_ref().is_some_and(|run| self.requested(run)));
        pending
    }

    /// Whether this session has requested the run, or one of the same agent that has ended, also in an earlier server.
    pub fn requested(&self, run: &Run) -> bool {
        let (its, ours) = (run.actor(), self.actor());
        let has_ended = its.session.strong_count() == 0;
        its.session.ptr_eq(&ours.session) || has_ended && (its.agent.is_empty() || its.agent == ours.agent)
    }

    /// A run of somebody else, as a noun: `cell 6 of claude-code (run r3)`.
    pub async fn described(&self, pending: &PendingRun) -> String {
        let details = &pending.details;
        let mut what = "code".to_owned();
        if let Some(cell) = &details.cell {
            what = format!("cell {}", one_line(cell));
            let path = details.notebook.as_ref();
            let now = match path.and_then(|path| self.workspace.open_notebook(path.as_str())) {
                Some(opened) => opened.document().snapshot().await.ok(),
                None => None,
            };
            if let Some((index, _)) = now.as_ref().and_then(|now| now.cell(cell)) {
                what = format!("cell {index}");
            }
        }
        let who = match (&*details.agent, &pending.run) {
            ("", None) => " of another server".to_owned(),
            ("", Some(_)) => String::new(),
            (agent, _) => format!(" of {}", one_line(agent)),
        };
        format!("{what}{who} (run {})", details.run)
    }

    /// The reason why a queued run has not started, in a sentence.
    pub async fn reason_to_wait(&self, run: &Run) -> Option<String> {
        let kernel = run.kernel().filter(|_| run.state() == RunState::Queued)?;
        let pending = self.workspace.runner().pending(&*kernel).await;
        let is_other = |pending: &&PendingRun| pending.details.run != *run.id();
        if let Some(ahead) = pending.first().filter(is_other) {
            return Some(format!("Queued behind {}.", self.described(ahead).await));
        }
        let waited = run.waited().as_secs();
        match kernel.description().state {
            KernelState::Busy => Some("Queued behind code of another client of the kernel.".to_owned()),
            KernelState::NotStarted | KernelState::Starting => {
                Some(format!("The kernel is starting, and has not answered for {waited} s."))
            }
            _ => Some(format!("The kernel has not answered for {waited} s.")),
        }
    }

    /// Permission for one more run.
    fn slot(&self) -> Result<Slot, Error> {
        self.kept().slots.take()
    }
}

/// The kernel with this id, or the only one whose id begins with it.
async fn find_kernel(place: &dyn Place, id: &str) -> Result<Arc<dyn Kernel>, Error> {
    let kernels = place.kernels().await?;
    if let Some(exact) = kernels.iter().find(|kernel| **kernel.id() == *id) {
        return Ok(exact.clone());
    }
    let mut matches = kernels.iter().filter(|kernel| kernel.id().starts_with(id));
    match (matches.next(), matches.next()) {
        (Some(kernel), None) => Ok(kernel.clone()),
        (Some(_), Some(_)) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("More than one kernel has an id that starts with {id:?}."),
            NextStep::ListKernels,
        )),
        (None, _) => Err(place.unknown_kernel(id)),
    }
}
