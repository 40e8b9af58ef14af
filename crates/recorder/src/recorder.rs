//! Records the operations of all notebooks, on a thread of its own. No answer waits for that and no edit fails because of it, as long
//! as records can be written and the disk keeps up. Every question about the operations is asked after all records before it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use kernel::earlier_widgets;
use notebook::{Edit, Notebook};
use operations::{
    Activities, Activity, Blobs, IdRecords, KernelRun, KernelRuns, LogError, Operation, OperationKind,
    OperationLog, Recorded, prune, record,
};
use parking_lot::Mutex;
use place::{Error, ErrorKind, KernelId};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::actor::Actor;

/// The time for which an answer waits until it is known whether its changes could be recorded, unless the last ones could.
const ANSWER_WAIT: Duration = Duration::from_millis(20);
/// The time for which an answer waits until a run is recorded for later servers: a millisecond unless the disk is slow.
const FLUSH_WAIT: Duration = Duration::from_millis(200);
/// With more unwritten records than this, an answer waits as long, too.
const BACKLOG: usize = 16;
/// The time for which a reply waits for the records of others, if there are any: less than a millisecond unless the disk is slow.
const NEWS_WAIT: Duration = Duration::from_secs(1);
/// The time that a question about the operations may take.
const READ_WAIT: Duration = Duration::from_secs(10);
/// The maximum number of queued records; further ones are dropped.
const CAPACITY: usize = 1024;

/// A larger state of widgets is not recorded, in bytes.
const MAX_WIDGETS: usize = 32 * 1024 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// A change that was made.
pub struct RecordedEdit {
    /// The identity of the notebook.
    pub notebook: String,
    pub actor: Actor,
    pub before: Notebook,
    pub after: Notebook,
    pub edits: Vec<Edit>,
    pub kind: OperationKind,
    /// A checkpoint to create before it.
    pub checkpoint: Option<String>,
}

/// Records operations below one folder.
pub struct Recorder {
    root: PathBuf,
    jobs: SyncSender<Job>,
    unwritten: Arc<AtomicUsize>,
    /// True if the last record could be written.
    is_working: Arc<AtomicBool>,
    logs: Mutex<HashMap<String, Arc<OperationLog>>>,
    warning: Arc<Warning>,
    activities: Arc<Mutex<Activities>>,
}

/// A problem is reported once, not with each edit: in the log, and to the next agent that gets an answer.
#[derive(Default)]
struct Warning(OnceLock<Mutex<Option<String>>>);

impl Warning {
    fn give(&self, problem: &dyn std::fmt::Display) {
        self.0.get_or_init(|| {
            let warning = format!("changes are applied, but not recorded, and cannot be undone: {problem}");
            tracing::warn!("{warning}");
            Mutex::new(Some(warning))
        });
    }
}

impl Recorder {
    /// Starts the thread that writes, which ends with this. Touches no file yet.
    pub fn new(root: PathBuf) -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel::<Job>(CAPACITY);
        let folder = root.clone();
        std::thread::Builder::new().name("operations".to_owned()).spawn(move || {
            let mut is_first = true;
            for job in queue {
                job();
                if std::mem::take(&mut is_first) {
                    prune(&folder, SystemTime::now());
                }
            }
        })?;
        Ok(Self {
            root,
            jobs,
            unwritten: Arc::default(),
            is_working: Arc::default(),
            logs: Mutex::default(),
            warning: Arc::default(),
            activities: Arc::default(),
        })
    }

    /// Records a change. Never waits.
    pub fn record(&self, edit: RecordedEdit) {
        let log = self.log(&edit.notebook);
        self.append(move || append(&log, edit));
    }

    /// Records a checkpoint. Fails if that is not possible.
    pub async fn checkpoint(&self, notebook: &str, actor: Actor, name: String) -> Result<(), Error> {
        let kind = OperationKind::Checkpoint { name, is_automatic: false };
        let made = self.ask(notebook, move |log| append_mark(log, actor, kind)).await?;
        made.map_err(|error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("No checkpoint was created, because nothing can be recorded: {error}."),
                "Changes are still applied, but cannot be undone until that is fixed.",
            )
            .with_source(error)
        })
    }

    /// Records an operation that changes nothing. Never waits.
    pub fn mark(&self, notebook: &str, actor: Actor, kind: OperationKind) {
        let log = self.log(notebook);
        self.append(move || append_mark(&log, actor, kind));
    }

    /// The agents that have changed notebooks since then, or are connected. Fails if that takes too long.
    pub async fn activities(&self, since: SystemTime) -> Result<Vec<Activity>, Error> {
        let (activities, root) = (self.activities.clone(), self.root.clone());
        self.question(move || activities.lock().read(&root, since)).await
    }

    /// The ids of cells that their file does not tell apart.
    pub fn id_records(&self) -> IdRecords {
        IdRecords::new(self.root.clone())
    }

    /// The runs on a kernel that this person's servers recorded.
    pub fn kernel_runs(&self, kernel: &KernelId) -> KernelRuns {
        KernelRuns::new(&self.root, kernel.as_str())
    }

    /// Records a run for later servers. Never waits.
    pub fn record_run(&self, kernel: &KernelId, run: KernelRun) {
        let runs = self.kernel_runs(kernel);
        self.write(move || {
            // Without it, the cell has outputs from elsewhere for a later server.
            if let Err(error) = runs.append(&run) {
                tracing::warn!(%error, "a later server will not know which cells are stale");
            }
        });
    }

    /// Asks the log of a notebook, after all that was recorded before. Fails if that takes too long.
    pub async fn ask<T: Send + 'static>(
        &self,
        notebook: &str,
        question: impl FnOnce(&OperationLog) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let log = self.log(notebook);
        self.question(move || question(&log)).await
    }

    async fn question<T: Send + 'static>(
        &self,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move || drop(reply.send(question())));
        let is_queued = self.jobs.try_send(job).is_ok();
        let answer = timeout(READ_WAIT, answer).await.ok().and_then(Result::ok).filter(|_| is_queued);
        answer.ok_or_else(|| {
            Error::new(
                ErrorKind::Timeout,
                "The history could not be read: the disk is too slow.",
                "Try again later.",
            )
        })
    }

    /// The records since the log of a notebook had `length` bytes, and its present size; without a `length` only that. Waits
    /// for no record of this program. `None` if it takes too long.
    pub async fn recorded_since(&self, notebook: &str, length: Option<u64>) -> Option<(Vec<Operation>, u64)> {
        let log = self.log(notebook);
        // Asked with every reply, and almost always answered so: two thread switches would cost more than the look.
        let size = log.size();
        if length.is_none_or(|length| length == size) {
            return Some((Vec::new(), size));
        }
        let mut end = length?;
        let reading = tokio::task::spawn_blocking(move || (log.read_since(&mut end), end));
        timeout(NEWS_WAIT, reading).await.ok()?.ok()
    }

    /// The reason why nothing is recorded. Returned once.
    pub fn take_warning(&self) -> Option<String> {
        self.warning.0.get()?.lock().take()
    }

    /// Waits briefly for a pending record, if its success is uncertain: so that an answer says that nothing is recorded.
    pub async fn settle(&self) {
        if !self.is_working.load(Ordering::Relaxed) || self.unwritten.load(Ordering::Relaxed) > BACKLOG {
            self.drain(ANSWER_WAIT).await;
        }
    }

    /// Waits a moment until later servers know the runs of this one.
    pub async fn flushed(&self) {
        self.drain(FLUSH_WAIT).await;
    }

    /// Waits up to `limit` for what is not written yet.
    pub async fn drain(&self, limit: Duration) {
        if self.unwritten.load(Ordering::Acquire) == 0 {
            return;
        }
        let (done, is_done) = oneshot::channel::<()>();
        if self.jobs.try_send(Box::new(move || _ = done.send(()))).is_ok() {
            let _ = timeout(limit, is_done).await;
        }
    }

    fn append(&self, work: impl FnOnce() -> Result<(), LogError> + Send + 'static) {
        let (warning, is_working) = (self.warning.clone(), self.is_working.clone());
        let is_queued = self.write(move || {
            let written = work();
            is_working.store(written.is_ok(), Ordering::Relaxed);
            if let Err(error) = written {
                warning.give(&error);
            }
        });
        if !is_queued {
            self.warning.give(&"the disk is too slow");
        }
    }

    /// Queues what writes a record. `false` if too much waits.
    fn write(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let unwritten = self.unwritten.clone();
        unwritten.fetch_add(1, Ordering::Relaxed);
        let job = move || {
            work();
            unwritten.fetch_sub(1, Ordering::Release);
        };
        let is_queued = self.jobs.try_send(Box::new(job)).is_ok();
        if !is_queued {
            self.unwritten.fetch_sub(1, Ordering::Relaxed);
        }
        is_queued
    }

    fn log(&self, notebook: &str) -> Arc<OperationLog> {
        let mut logs = self.logs.lock();
        let log = logs.entry(notebook.to_owned());
        log.or_insert_with(|| Arc::new(OperationLog::new(&self.root, notebook))).clone()
    }
}

fn append(log: &OperationLog, edit: RecordedEdit) -> Result<(), LogError> {
    let RecordedEdit { before, after, mut edits, actor, kind, checkpoint, .. } = edit;
    // Front ends change them, too, without a change that is worth a refusal.
    edits.retain(|edit| !matches!(edit, Edit::SetMetadata { name, .. } if name == "widgets"));
    let Recorded { cells, metadata, mut blobs } = record(&before, &after, &edits);
    let [was, is] = [&before, &after].map(|notebook| notebook.metadata().member("widgets"));
    let widgets = earlier_widgets(was.as_ref(), is.as_ref()).filter(|it| it.bytes().len() <= MAX_WIDGETS);
    let widgets = widgets.map(|it| blobs.add(it.bytes()));
    let operation = Operation { cells, metadata, widgets, ..operation(log, actor.clone(), kind) };
    if operation.is_empty() && !operation.is_undo() {
        return Ok(());
    }
    if let Some(name) = checkpoint {
        append_mark(log, actor, OperationKind::Checkpoint { name, is_automatic: true })?;
    }
    log.append(operation, &blobs).map(drop)
}

/// Appends an operation that changes nothing.
fn append_mark(log: &OperationLog, actor: Actor, kind: OperationKind) -> Result<(), LogError> {
    log.append(operation(log, actor, kind), &Blobs::default()).map(drop)
}

/// An operation of this moment.
fn operation(log: &OperationLog, actor: Actor, kind: OperationKind) -> Operation {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let session = actor.session.upgrade().map(|session| log.hold(&session)).unwrap_or_default();
    Operation {
        time,
        agent: actor.agent,
        session,
        tool: actor.tool,
        call: actor.call,
        arrived: actor.arrived,
        kind,
        ..Operation::default()
    }
}
