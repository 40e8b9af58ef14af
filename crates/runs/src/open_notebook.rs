//! A notebook that agents use: its document and its kernel.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notebook::CellId;
use parking_lot::{Mutex, MutexGuard};
use place::{
    Document, Error, Kernel, KernelChoice, KernelRequest, KernelSelector, KernelState, NotebookPath, Place,
    Presence, RunId, SessionId,
};
use staleness::Judge;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::changes::{ByAgents, Changes};
use crate::runner::PendingRun;
use crate::telemetry;

/// An open notebook, shared by all sessions of the process.
pub struct OpenNotebook {
    place: Arc<dyn Place>,
    document: Arc<dyn Document>,
    /// Held from reading the cells until inserting one: an insertion cannot express the index that it relies on.
    insertion: tokio::sync::Mutex<()>,
    binding: Mutex<KernelBinding>,
    /// Held while a kernel is being chosen.
    choosing: tokio::sync::Mutex<()>,
    /// Events from the time without a connection to its kernel that have not been reported to an agent.
    notices: Mutex<Vec<String>>,
    /// Changes when an agent has changed the notebook.
    changed: watch::Sender<ByAgents>,
    /// What was found about its cells.
    judge: Mutex<Judge>,
    /// The runs whose outputs were written after their end, and that no later run has recorded. Held during such a write.
    late_writes: tokio::sync::Mutex<HashSet<RunId>>,
}

/// Whether the kernel of a notebook ends when a session closes the notebook and no other session uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsKernel {
    Never,
    /// If this session started it.
    IfOurs,
    /// If this session started it, or one that has ended.
    IfOrphaned,
}

#[derive(Default)]
struct KernelBinding {
    kernel: Option<Arc<dyn Kernel>>,
    /// One that other programs use, of which only is known what they have run.
    observed: Option<Arc<dyn Kernel>>,
    /// A kernel was chosen for it, or looked for.
    is_looked_for: bool,
    /// The kernels that sessions started for it, also those that others have replaced since.
    started: Vec<(SessionId, Arc<dyn Kernel>)>,
    users: HashSet<SessionId>,
    /// See [`OpenNotebook::pending`].
    pending: Arc<[PendingRun]>,
    /// When the last user left; `None` while it has users or is suspended.
    unused_since: Option<Instant>,
}

impl OpenNotebook {
    /// A document that no session uses yet, without a kernel.
    pub fn new(place: Arc<dyn Place>, document: Arc<dyn Document>) -> Self {
        Self {
            place,
            document,
            insertion: tokio::sync::Mutex::default(),
            binding: Mutex::default(),
            choosing: tokio::sync::Mutex::default(),
            notices: Mutex::default(),
            changed: watch::Sender::new((0, SessionId::new(0))),
            judge: Mutex::default(),
            late_writes: tokio::sync::Mutex::default(),
        }
    }

    /// The path, as agents see it.
    pub fn path(&self) -> &NotebookPath {
        self.document.path()
    }

    pub fn place(&self) -> &Arc<dyn Place> {
        &self.place
    }

    /// The folder of this machine in which it lies.
    pub fn folder(&self) -> Option<PathBuf> {
        let path = self.place.strip_name(self.path()).unwrap_or(self.path());
        Some(self.place.folder()?.join(path).parent()?.to_owned())
    }

    pub fn document(&self) -> &Arc<dyn Document> {
        &self.document
    }

    /// Waits until no other session inserts cells.
    pub async fn arrange(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.insertion.lock().await
    }

    /// The kernel, if one has been chosen.
    pub fn kernel(&self) -> Option<Arc<dyn Kernel>> {
        self.binding().kernel.clone()
    }

    /// Whether nobody has looked yet for a kernel that other programs have left for it. The caller does so now.
    pub fn looks_for_kernel(&self) -> bool {
        let mut binding = self.binding();
        let is_known = std::mem::replace(&mut binding.is_looked_for, true);
        !is_known && binding.kernel.is_none()
    }

    /// Other programs use this kernel for the notebook: its cells are judged by it, as long as none is chosen here.
    pub fn observe(&self, kernel: Option<Arc<dyn Kernel>>) {
        self.binding().observed = kernel;
    }

    /// The kernel by which its cells are judged, unless that is gone.
    pub fn judged_kernel(&self) -> Option<Arc<dyn Kernel>> {
        let binding = self.binding();
        let kernel = binding.kernel.as_ref().or(binding.observed.as_ref());
        kernel.filter(|kernel| !kernel.is_gone()).cloned()
    }

    /// Returns the notebook's kernel, or chooses one if it has none or `selector` asks for another.
    pub async fn choose(
        &self,
        selector: KernelSelector,
        session: SessionId,
        is_for_run: bool,
    ) -> Result<KernelChoice, Error> {
        let _one_at_a_time = self.choosing.lock().await;
        // It may have been shut down through another notebook.
        let present = self.kernel().filter(|kernel| !kernel.is_gone());
        if let Some(kernel) = present
            && selector.fits(&kernel.description().name)
        {
            return Ok(KernelChoice::Kernel { kernel, is_new: false });
        }
        let request = KernelRequest {
            notebook: Some(self.path().clone()),
            kernel: selector,
            is_for_run,
            preferred: self.document.snapshot().await?.wanted_kernelspec(),
            folder: None,
        };
        let choice = self.place.kernel(request).await?;
        if let KernelChoice::Kernel { kernel, is_new } = &choice {
            telemetry::kernel_chosen(&**kernel, *is_new);
            let mut binding = self.binding();
            if binding.kernel.as_ref().is_none_or(|bound| bound.id() != kernel.id()) {
                binding.started.retain(|(_, started)| !started.is_gone());
                binding.started.extend(is_new.then(|| (session, kernel.clone())));
                binding.kernel = Some(kernel.clone());
            }
        }
        Ok(choice)
    }

    /// Runs cells in a kernel that a session has started for itself. It does not become the notebook's for others.
    pub fn bind(&self, kernel: Arc<dyn Kernel>, session: SessionId) {
        telemetry::kernel_chosen(&*kernel, true);
        let mut binding = self.binding();
        binding.started.push((session, kernel.clone()));
        binding.kernel = Some(kernel);
    }

    pub(crate) fn add_notice(&self, notice: String) {
        self.notices.lock().push(notice);
    }

    /// What happened while no server was connected to its kernel. Each is returned once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock())
    }

    /// Changes by anybody but this session.
    pub fn changes(&self, session: SessionId) -> Changes {
        Changes::new(self.document.changes(), self.changed.subscribe(), session)
    }

    /// An agent has changed the notebook.
    pub fn changed_by(&self, session: SessionId) {
        self.changed.send_modify(|(count, by)| (*count, *by) = (*count + 1, session));
    }

    /// Shows others that an agent works here.
    pub fn show_presence(&self, session: SessionId, name: String, cell: Option<CellId>) {
        self.document.set_presence(session, Some(Presence { name, cell }));
    }

    /// A session uses it from now on.
    pub fn enter(&self, session: SessionId) {
        let mut binding = self.binding();
        binding.users.insert(session);
        binding.unused_since = None;
    }

    /// Removes a session that has ended. The kernel keeps running.
    pub fn forget(&self, session: SessionId) {
        {
            let mut binding = self.binding();
            if binding.users.remove(&session) && binding.users.is_empty() {
                binding.unused_since = Some(Instant::now());
            }
        }
        self.document.set_presence(session, None);
    }

    /// `None` if a session uses it, or it is suspended.
    pub fn unused_for(&self) -> Option<Duration> {
        self.binding().unused_since.map(|left| left.elapsed())
    }

    /// Releases connections and memory. The kernel keeps running.
    pub async fn suspend(&self) {
        self.binding().unused_since = None;
        self.document.suspend().await;
    }

    /// The running kernels that sessions started for it and others have replaced.
    pub fn replaced_kernels(&self) -> Vec<Arc<dyn Kernel>> {
        let binding = self.binding();
        let started = binding.started.iter().map(|(_, kernel)| kernel);
        let is_running = |kernel: &Arc<dyn Kernel>| {
            !kernel.is_gone()
                && !matches!(kernel.description().state, KernelState::NotStarted | KernelState::Dead { .. })
        };
        let bound = binding.kernel.as_ref().map(|kernel| kernel.id());
        started.filter(|kernel| Some(kernel.id()) != bound && is_running(kernel)).cloned().collect()
    }

    /// Removes a session. Returns the kernels to shut down: if no session uses the notebook any longer, those that end with it, the
    /// last started first.
    pub fn leave(&self, session: SessionId, ends: EndsKernel) -> Vec<Arc<dyn Kernel>> {
        self.forget(session);
        let is_used = !self.binding().users.is_empty();
        self.take_kernels(|by| match ends {
            EndsKernel::Never => false,
            EndsKernel::IfOurs => !is_used && by == session,
            EndsKernel::IfOrphaned => !is_used,
        })
    }

    /// Unbinds and returns the kernels that sessions started, even while others use the notebook: those of the sessions that
    /// `is_meant` selects.
    pub fn take_kernels(&self, is_meant: impl Fn(SessionId) -> bool) -> Vec<Arc<dyn Kernel>> {
        let mut binding = self.binding();
        let mut taken: Vec<_> = binding.started.extract_if(.., |(by, _)| is_meant(*by)).collect();
        taken.reverse();
        let taken: Vec<_> = taken.into_iter().map(|(_, kernel)| kernel).collect();
        if let Some(bound) = &binding.kernel
            && taken.iter().any(|kernel| kernel.id() == bound.id())
        {
            binding.kernel = None;
        }
        taken
    }

    /// The runs on its kernel that had not ended when somebody looked, those of other servers among them.
    pub fn pending(&self) -> Arc<[PendingRun]> {
        self.binding().pending.clone()
    }

    pub fn set_pending(&self, pending: Vec<PendingRun>) {
        self.binding().pending = pending.into();
    }

    /// What was found about its cells, locked: it is asked and not held.
    pub fn judge(&self) -> MutexGuard<'_, Judge> {
        self.judge.lock()
    }

    pub(crate) async fn late_writes(&self) -> tokio::sync::MutexGuard<'_, HashSet<RunId>> {
        self.late_writes.lock().await
    }

    fn binding(&self) -> MutexGuard<'_, KernelBinding> {
        self.binding.lock()
    }
}
