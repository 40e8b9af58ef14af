//! What is remembered of runs to tell which cells are stale. Of those on a kernel that outlives this program, every server of
//! this person knows: each adds its runs to the kernel's file, and reads what others have added.

mod instance;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use names::{Name, Names};
use operations::KernelRun;
use parking_lot::Mutex;
use place::{Kernel, KernelId, LossCause, NotebookPath, RunId, RunState};
use recorder::{Actor, Recorder};
use staleness::{Codes, History, Module, Run as PastRun, hash, remember};
use syntax::{is_blank, random_state};
use uuid::Uuid;

use crate::kernel_use::User;
use crate::open_notebook::OpenNotebook;
use crate::run::{Run, RunProgress};

use instance::{Instances, KnownKernel};

/// How many notebooks are remembered, and how many kernels. The ones that were used longest ago are forgotten.
const MAX_NOTEBOOKS: usize = 64;
const MAX_KERNELS: usize = 256;
/// A run of a longer source is not kept for later servers, in bytes.
const MAX_SOURCE: usize = 256 * 1024;

/// The last runs of the cells of all notebooks, and the instances of their kernels. It does not keep outputs.
pub struct RunHistory {
    inner: Mutex<Inner>,
    /// Keeps the runs on kernels that outlive this program.
    recorder: OnceLock<Arc<Recorder>>,
    /// Tells the runs of this program from those of others in the files.
    server: String,
}

#[derive(Default)]
struct Inner {
    /// The notebook that was used last is at the end.
    notebooks: Vec<(NotebookPath, Notebook)>,
    /// The same for kernels.
    kernels: Vec<(KernelId, KnownKernel)>,
    instances: Instances,
    /// How often a run was added.
    version: u64,
}

#[derive(Default)]
struct Notebook {
    history: History,
    /// That of [`Inner`] when its last run was added.
    version: u64,
    /// The codes of the runs.
    codes: Codes,
    /// The runs in the history.
    known: HashSet<String>,
    /// Of each kernel, how many runs of its file were looked at.
    taken: HashMap<KernelId, u64>,
}

/// How a run has ended with which its kernel had begun.
struct End {
    /// The kernel has said how.
    has_replied: bool,
    /// The kernel has ended with it.
    is_of_kernel: bool,
    /// The recorded part, without its instance.
    kept: KernelRun,
}

impl End {
    fn of(run: &Run, notebook: &OpenNotebook, kernel: &dyn Kernel) -> Option<Self> {
        let view = run.view();
        let (state, count) = (view.state, view.execution_count);
        let (has_replied, is_with_kernel) = run.with(|it| (it.has_reply, it.began_at.is_some()));
        let has_begun = match &state {
            RunState::Lost { is_started, .. } => *is_started,
            // A kernel that dies at once may not have said that it was busy.
            RunState::KernelDied { how: kernel::Death::Other(_) } => true,
            RunState::Interrupted | RunState::KernelDied { .. } => has_replied || is_with_kernel,
            _ => has_replied,
        };
        let is_of_kernel = matches!(
            state,
            RunState::KernelDied { .. } | RunState::Lost { cause: LossCause::KernelReplaced, .. }
        );
        // A kernel does not count what has no code, and repeats its last count.
        let count = count.filter(|_| !is_blank(run.source()));
        let changes = view.changes.unwrap_or_default();
        let kept = || KernelRun {
            agent: run.actor().agent.clone(),
            run: Some(run.id().clone()),
            notebook: notebook.place().identity(notebook.path()),
            cell: run.cell().map(|cell| cell.id.clone()),
            source: run.source().to_owned(),
            language: kernel.description().language,
            ended_at: milliseconds(SystemTime::now()),
            has_failed: state != RunState::Done,
            is_interrupted: !matches!(state, RunState::Done | RunState::Error { .. }),
            kernel_died: matches!(state, RunState::KernelDied { .. }),
            execution_count: count,
            assigned: changes.assigned(),
            unchanged: changes.unchanged.clone(),
            drew: changes.random.iter().map(|it| random_state(it)).collect(),
            random_states: changes.states.iter().map(|(it, state)| (random_state(it), *state)).collect(),
            loaded: changes.loaded.clone(),
            changed_files: changes.changed_files.clone(),
            outputs: run.with(|it| it.stored_outputs),
            ..KernelRun::default()
        };
        has_begun.then(|| Self { has_replied, is_of_kernel, kept: kept() })
    }
}

/// What the beginning of a run finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The life of the kernel between two restarts.
    pub(crate) instance: u64,
    /// The kernel was restarted since the last run, and nobody asked this server for it.
    pub(crate) is_restarted: bool,
    /// The run before has said so, before the new process was known: that it speaks up now is no news.
    pub(crate) is_said: bool,
}

impl Default for RunHistory {
    fn default() -> Self {
        let server = Uuid::new_v4().simple().to_string();
        Self { inner: Mutex::default(), recorder: OnceLock::new(), server }
    }
}

impl Inner {
    fn kernel(&mut self, kernel: &dyn Kernel) -> (&mut KnownKernel, &mut Instances) {
        (known(&mut self.kernels, kernel.id()), &mut self.instances)
    }

    /// The present instance of a kernel that has run something.
    fn instance(&mut self, kernel: &dyn Kernel) -> Option<u64> {
        let (_, known) = self.kernels.iter_mut().find(|(id, _)| id == kernel.id())?;
        known.present(process(kernel), &mut self.instances)
    }

    /// The history of a notebook.
    fn notebook(&self, path: &NotebookPath) -> Option<&Notebook> {
        self.notebooks.iter().find(|(known, _)| known == path).map(|(_, notebook)| notebook)
    }
}

impl RunHistory {
    /// Runs on kernels that outlive this program are kept from now on.
    pub(crate) fn record_with(&self, recorder: Arc<Recorder>) {
        let _ = self.recorder.set(recorder);
    }

    /// The kernel's instance, for a run that starts. Notes in the run what others have done with the kernel.
    pub(crate) fn begin(&self, kernel: &dyn Kernel, run: &Run) -> Begun {
        let mut inner = self.inner.lock();
        self.refresh(&mut inner, kernel);
        let (known, instances) = inner.kernel(kernel);
        let begun = known.begin(process(kernel), instances);
        note_others(known, run);
        forget_oldest(&mut inner.kernels, MAX_KERNELS);
        begun
    }

    /// The kernel restarts, perhaps because an agent asked for that: what runs from now on finds no names.
    pub(crate) fn restarted(&self, kernel: &dyn Kernel, by: Option<Actor>) {
        let mut inner = self.inner.lock();
        let (known, instances) = inner.kernel(kernel);
        let instance = known.restart(process(kernel), instances);
        let (is_restart, agent) = by.map_or_else(Default::default, |Actor { agent, session, .. }| {
            known.uses.add(User::Session(session), None);
            (true, agent)
        });
        self.keep(kernel, KernelRun { instance, is_restart, agent, ..KernelRun::default() });
    }

    /// The present instance of a kernel that has run something.
    pub fn instance(&self, kernel: &dyn Kernel) -> Option<u64> {
        let mut inner = self.inner.lock();
        self.refresh(&mut inner, kernel);
        inner.instance(kernel)
    }

    /// A number that changes with what is known of the runs of a notebook's cells, 0 if nothing is; and the instance of its kernel, if
    /// that has run something and, as is given, lives.
    pub fn version(
        &self,
        notebook: &OpenNotebook,
        kernel: Option<(&dyn Kernel, bool)>,
    ) -> (u64, Option<u64>) {
        let mut inner = self.inner.lock();
        let mut instance = None;
        if let Some((kernel, is_alive)) = kernel {
            self.take_stored(&mut inner, notebook, kernel);
            instance = if is_alive { inner.instance(kernel) } else { None };
        }
        (inner.notebook(notebook.path()).map_or(0, |known| known.version), instance)
    }

    /// The runs of a notebook's cells, in this program and, on a kernel that outlives it, in others.
    pub fn runs(&self, notebook: &OpenNotebook, kernel: Option<&dyn Kernel>) -> (Vec<PastRun>, Codes) {
        let mut inner = self.inner.lock();
        if let Some(kernel) = kernel {
            self.take_stored(&mut inner, notebook, kernel);
        }
        let known = inner.notebook(notebook.path());
        known.map(|known| (known.history.runs().to_vec(), known.codes.clone())).unwrap_or_default()
    }

    /// The files of the modules that runs in this instance have loaded, and the digests of the files, as far as the kernel has said so.
    pub fn modules(
        &self,
        path: &NotebookPath,
        instance: Option<u64>,
    ) -> (BTreeMap<Name, String>, BTreeMap<Name, u64>) {
        let inner = self.inner.lock();
        inner.notebook(path).map(|known| known.history.modules(instance)).unwrap_or_default()
    }

    /// Cells that were split, merged or copied have run as far as their code has: that is remembered from now on. `version` and
    /// `instance` are what [`Self::version`] has given.
    pub fn carry(
        &self,
        path: &NotebookPath,
        notebook: &notebook::Notebook,
        language: &str,
        (version, instance): (u64, Option<u64>),
    ) {
        let mut inner = self.inner.lock();
        let known = inner.notebooks.iter_mut().find(|(known, _)| known == path);
        if let Some((_, known)) = known.filter(|(_, known)| known.version == version) {
            known.history.carry(notebook, language, &mut known.codes, instance);
        }
    }

    /// Adds a run that is over, if its kernel had begun with it. Returns whether it turns out that the kernel was restarted before
    /// it, although nobody asked this server for that.
    pub(crate) fn ended(
        &self,
        notebook: &OpenNotebook,
        run: &Run,
        kernel: &dyn Kernel,
        begun: Begun,
    ) -> bool {
        let Some(end) = End::of(run, notebook, kernel) else { return false };
        let mut inner = self.inner.lock();
        self.take_stored(&mut inner, notebook, kernel);
        let (known_kernel, instances) = inner.kernel(kernel);
        let process = process(kernel);
        let process = (
            process.clone().filter(|_| end.has_replied && run.with(|it| it.was_restarted)),
            process.is_some(),
        );
        let (instance, is_restarted) =
            known_kernel.counted(begun.instance, process, end.kept.execution_count, instances);
        let what = run.cell().map_or_else(|| format!("run {}", run.id()), |cell| format!("cell {}", cell.id));
        known_kernel.uses.add(User::Session(run.actor().session.clone()), Some(what));
        if end.is_of_kernel {
            note_others(known_kernel, run);
        }
        self.add(&mut inner, notebook, kernel, instance, end.kept);
        if end.is_of_kernel {
            let (known_kernel, instances) = inner.kernel(kernel);
            let name = known_kernel.restart(Some(instances.name(begun.instance)), instances);
            self.keep(kernel, KernelRun { instance: name, ..KernelRun::default() });
        }
        is_restarted
    }

    /// A run that was lost has been found: what becomes of it replaces what was known.
    pub(crate) fn found(&self, notebook: Option<&Arc<OpenNotebook>>, run: &RunId) {
        let mut inner = self.inner.lock();
        if let Some(notebook) = notebook {
            known(&mut inner.notebooks, notebook.path()).known.remove(&key(&self.server, run));
        }
    }

    /// The outputs of a run that is over have been stored again.
    pub(crate) fn stored(&self, notebook: &OpenNotebook, run: &Run) {
        let Some((cell, kernel)) = run.cell().zip(run.kernel()) else { return };
        let Some(End { kept, .. }) = End::of(run, notebook, &*kernel) else { return };
        let mut inner = self.inner.lock();
        let Inner { notebooks, version, instances, .. } = &mut *inner;
        let Some((_, home)) = notebooks.iter_mut().find(|(path, _)| path == notebook.path()) else { return };
        if let Some(instance) = home.history.shows(&cell.id, kept.execution_count, kept.outputs) {
            *version += 1;
            home.version = *version;
            self.keep(&*kernel, KernelRun { instance: instances.name(instance), ..kept });
        }
    }

    /// Adds a run of an earlier server that is over. Without a reply, nobody knows whether the kernel is still the one that ran it.
    pub(crate) fn adopted(&self, notebook: &OpenNotebook, run: &Run, kernel: &dyn Kernel) {
        let Some(end) = End::of(run, notebook, kernel) else { return };
        let mut inner = self.inner.lock();
        self.take_stored(&mut inner, notebook, kernel);
        let (known_kernel, instances) = inner.kernel(kernel);
        let instance = known_kernel.present_or_new(process(kernel), instances);
        let instance = if end.has_replied { instance } else { instances.unknown() };
        self.add(&mut inner, notebook, kernel, instance, end.kept);
    }

    fn add(
        &self,
        inner: &mut Inner,
        notebook: &OpenNotebook,
        kernel: &dyn Kernel,
        instance: u64,
        run: KernelRun,
    ) {
        let home = known(&mut inner.notebooks, notebook.path());
        if !run.run.as_ref().is_some_and(|id| home.known.insert(key(&self.server, id))) {
            return;
        }
        inner.version += 1;
        home.version = inner.version;
        home.add(&run, instance, notebook.folder().as_deref());
        self.keep(kernel, KernelRun { instance: inner.instances.name(instance), ..run });
        forget_oldest(&mut inner.notebooks, MAX_NOTEBOOKS);
    }

    /// Adds what other servers have run on the kernel since, to its instance and to the history of a notebook.
    fn take_stored(&self, inner: &mut Inner, notebook: &OpenNotebook, kernel: &dyn Kernel) {
        self.refresh(inner, kernel);
        let Inner { kernels, instances, notebooks, version } = inner;
        let Some((_, known_kernel)) = kernels.iter().find(|(id, _)| id == kernel.id()) else { return };
        if known_kernel.kept.is_empty() {
            return;
        }
        let home = known(notebooks, notebook.path());
        let taken = home.taken.entry(kernel.id().clone()).or_default();
        if std::mem::replace(taken, known_kernel.version) == known_kernel.version {
            return;
        }
        let identity = notebook.place().identity(notebook.path());
        let of_notebook = known_kernel.kept.iter().filter(|run| run.notebook == identity);
        for run in of_notebook {
            let Some(id) = &run.run else { continue };
            if home.known.insert(key(&run.server, id)) {
                *version += 1;
                home.version = *version;
                home.add(run, instances.number(&run.instance), notebook.folder().as_deref());
            } else if let Some(cell) = run.cell.as_ref().filter(|_| run.outputs.is_some()) {
                home.history.shows(cell, run.execution_count, run.outputs);
            }
        }
        forget_oldest(notebooks, MAX_NOTEBOOKS);
    }

    /// Reads what other servers have added to the kernel's file, and looks whether its process has ended.
    fn refresh(&self, inner: &mut Inner, kernel: &dyn Kernel) {
        let Inner { kernels, instances, .. } = inner;
        if let Some(recorder) = self.recorder.get().filter(|_| kernel.outlives_us()) {
            let known = known(kernels, kernel.id());
            let runs = recorder.kernel_runs(kernel.id()).read(&mut known.position);
            known.add(runs.into_iter().filter(|run| run.server != self.server).collect(), instances);
        }
        if let Some(ended) = kernel.ended_instance()
            && let Some((_, known)) = kernels.iter_mut().find(|(id, _)| id == kernel.id())
        {
            known.ended(name_of(&ended, kernel), instances);
        }
    }

    fn keep(&self, kernel: &dyn Kernel, run: KernelRun) {
        let Some(recorder) = self.recorder.get().filter(|_| kernel.outlives_us()) else { return };
        if run.source.len() <= MAX_SOURCE {
            recorder.record_run(kernel.id(), KernelRun { server: self.server.clone(), ..run });
        }
    }
}

impl Notebook {
    fn add(&mut self, run: &KernelRun, instance: u64, folder: Option<&Path>) {
        let source = hash(&run.source);
        // An instance has one language.
        let is_same = |known: &&PastRun| known.source == source && known.instance == instance;
        let names = match self.history.runs().iter().rev().find(is_same) {
            Some(known) => known.names.clone(),
            None => Arc::new(Names::in_language(&run.source, &run.language)),
        };
        let past = PastRun {
            cell: run.cell.clone(),
            source,
            names,
            instance,
            ended_at: Duration::from_millis(run.ended_at),
            has_failed: run.has_failed,
            is_interrupted: run.is_interrupted,
            kernel_died: run.kernel_died,
            assigned: run.assigned.clone().map(Arc::new),
            unchanged: Arc::new(run.unchanged.clone()),
            drew: run.drew.clone(),
            random_states: run.random_states.clone(),
            loaded: run.loaded.iter().map(|(name, it)| (name.clone(), module(it, folder))).collect(),
            outputs: run.outputs,
            execution_count: run.execution_count,
            ..PastRun::default()
        };
        self.history.add(past, run.changed_files.clone());
        remember(&mut self.codes, &run.source, self.history.runs());
    }
}

/// A module that a kernel has loaded, for a notebook in this folder of this machine, if it is in one.
fn module((file, content): &(String, Option<u64>), folder: Option<&Path>) -> Module {
    let within = folder.and_then(|folder| Path::new(file).strip_prefix(folder).ok());
    let file = within.map_or_else(|| file.clone(), |within| within.display().to_string());
    Module { file, content: *content }
}

/// Notes in a run what others have done with its kernel since the last run of its session.
fn note_others(kernel: &mut KnownKernel, run: &Run) {
    if let Some((sentences, has_restarted)) = kernel.uses.since_last_run(&run.actor().session) {
        run.note(sentences);
        if has_restarted {
            run.with(RunProgress::restarted_by_others);
        }
    }
}

/// What tells the kernel's process from all others, of other kernels too; see [`Kernel::instance`].
fn process(kernel: &dyn Kernel) -> Option<String> {
    kernel.instance().map(|process| name_of(&process, kernel))
}

fn name_of(process: &str, kernel: &dyn Kernel) -> String {
    format!("{process}@{}", kernel.id())
}

/// What tells a run from all others. The ids of servers that adopt runs are unique by themselves.
fn key(server: &str, run: &RunId) -> String {
    if run.contains('-') { run.to_string() } else { format!("{run} of {server}") }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The entry of this key, which is then at the end.
fn known<'a, K: Clone + PartialEq, V: Default>(all: &'a mut Vec<(K, V)>, key: &K) -> &'a mut V {
    let found = all.iter().position(|(known, _)| known == key).map(|index| all.remove(index));
    all.push(found.unwrap_or_else(|| (key.clone(), V::default())));
    let last = all.len() - 1;
    &mut all[last].1
}

fn forget_oldest<T>(all: &mut Vec<T>, limit: usize) {
    all.drain(..all.len().saturating_sub(limit));
}
